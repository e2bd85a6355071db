package agents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sources are where information comes from. The zero value is none: then everything fresh is honestly missing.
type Sources struct {
	Feeds      []Feed
	WeatherURL string  // answers in the JSON of Open-Meteo's forecast; empty: none
	Places     []Place // that the weather is known of, the home first; none: the URL itself says where
	SearchURL  string  // answers ?q=…&format=json in the JSON of SearXNG; empty: only feeds are searched
	Documents  fs.FS   // product documents; nil: none
	Private    bool    // redirects to addresses of private networks are followed
	// Dial opens connections; nil: the network, within the bounds above.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// MaxAge is how old the newest entry of a feed with dates may be; 0: three days.
	MaxAge time.Duration
}

// Feed is one RSS or Atom feed. Its name is said with what it brings; "news", "traffic" and "weather" in it, or in the Korean words for them,
// say what it is about.
type Feed struct {
	Name string
	URL  string
}

// Place is where the home is, or another place whose weather may be asked for.
type Place struct {
	Name      string
	Latitude  float64
	Longitude float64
}

const defaultMaxAge = 72 * time.Hour

// Validate names all faults.
func (s *Sources) Validate() error {
	var errs []error
	for _, f := range s.Feeds {
		if f.Name == "" || slices.ContainsFunc(s.Feeds, func(o Feed) bool { return o != f && o.Name == f.Name }) {
			errs = append(errs, fmt.Errorf("feed %q: wants a name of its own", f.Name))
		}
		errs = append(errs, address("feed "+f.Name, f.URL))
	}
	if s.WeatherURL != "" {
		errs = append(errs, address("weather-url", s.WeatherURL))
	}
	if s.SearchURL != "" {
		errs = append(errs, address("search-url", s.SearchURL))
	}
	if len(s.Places) > 0 && s.WeatherURL == "" {
		errs = append(errs, errors.New("weather-place: wants a weather address, too (weather-url)"))
	}
	for _, p := range s.Places {
		if p.Name == "" || !(math.Abs(p.Latitude) <= 90 && math.Abs(p.Longitude) <= 180) { // also what is no number
			errs = append(errs, fmt.Errorf("weather-place %q: wants a name, a latitude of -90 to 90 and a longitude of -180 to 180", p.Name))
		}
	}
	return errors.Join(errs...)
}

func address(what, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s: %q is no http or https address", what, text)
	}
	if u.User != nil {
		return fmt.Errorf("%s: a password does not belong into an address", what)
	}
	return nil
}

// ParseFeed reads name=url.
func ParseFeed(text string) (Feed, error) {
	name, address, ok := strings.Cut(text, "=")
	if !ok || name == "" || address == "" {
		return Feed{}, fmt.Errorf("%q: want name=url", text)
	}
	return Feed{Name: strings.TrimSpace(name), URL: strings.TrimSpace(address)}, nil
}

// ParsePlace reads name=latitude,longitude.
func ParsePlace(text string) (Place, error) {
	name, at, _ := strings.Cut(text, "=")
	first, second, _ := strings.Cut(at, ",")
	latitude, errA := strconv.ParseFloat(strings.TrimSpace(first), 64)
	longitude, errB := strconv.ParseFloat(strings.TrimSpace(second), 64)
	if errA != nil || errB != nil || name == "" {
		return Place{}, fmt.Errorf("%q: want name=latitude,longitude", text)
	}
	return Place{Name: strings.TrimSpace(name), Latitude: latitude, Longitude: longitude}, nil
}
