package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"deviceagent/cloudlink/planner/agents"
	"deviceagent/packaging/documents"
)

// agentSettings are the flags about where information comes from. Without any, what is fresh is honestly missing.
type agentSettings struct {
	feeds      []string
	weatherURL string
	places     []string
	searchURL  string
	documents  string
	private    bool
}

func (a *agentSettings) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&a.feeds, "feed", nil, "name=url of an RSS or Atom feed, also several times; its name says what it is about: 뉴스, 교통, news, traffic")
	f.StringVar(&a.weatherURL, "weather-url", "", "address that answers in the JSON of Open-Meteo's forecast, such as https://api.open-meteo.com/v1/forecast")
	f.StringArrayVar(&a.places, "weather-place", nil, "name=latitude,longitude of a place whose weather may be asked for, also several times; the home first")
	f.StringVar(&a.searchURL, "search-url", "", "address that answers ?q=…&format=json in the JSON of SearXNG")
	f.StringVar(&a.documents, "documents", "", "folder of product documents, markdown or text (default: the built-in manual of the example robot)")
	f.BoolVar(&a.private, "fetch-private", false, "follow redirects of these sources to private addresses, too")
}

// sources reads the flags. Errors name all faults by their flags.
func (a *agentSettings) sources() (agents.Sources, error) {
	src := agents.Sources{WeatherURL: a.weatherURL, SearchURL: a.searchURL, Private: a.private, Documents: documents.Files}
	var errs []error
	for _, text := range a.feeds {
		f, err := agents.ParseFeed(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--feed %w", err))
			continue
		}
		src.Feeds = append(src.Feeds, f)
	}
	for _, text := range a.places {
		p, err := agents.ParsePlace(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--weather-place %w", err))
			continue
		}
		src.Places = append(src.Places, p)
	}
	errs = append(errs, src.Validate())
	if a.documents != "" {
		src.Documents = os.DirFS(a.documents)
		info, err := fs.Stat(src.Documents, ".")
		if err != nil || !info.IsDir() {
			errs = append(errs, fmt.Errorf("--documents %s: want a folder: %w", a.documents, cmp.Or(err, fs.ErrInvalid)))
		}
	}
	return src, errors.Join(errs...)
}

func (a *agentSettings) validate() error {
	_, err := a.sources()
	return err
}
