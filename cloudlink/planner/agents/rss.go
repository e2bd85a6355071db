package agents

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/text/encoding/htmlindex"
)

// item is one entry of a feed, as plain words.
type item struct {
	Title   string
	Summary string
	At      time.Time // zero: it has no date
	Source  string    // name of the feed
}

// Bounds of what is read of a feed.
const (
	itemsMost    = 40
	depthMost    = 32
	fieldBytes   = 8 << 10
	summaryRunes = 200
)

// fields are the elements of an entry that are read, of RSS 2.0, RSS 1.0 and Atom, by their local names.
var fields = map[string]func(*item, string){
	"title":       func(i *item, s string) { setOnce(&i.Title, clean(s, titleRunes)) },
	"description": func(i *item, s string) { setOnce(&i.Summary, clean(s, summaryRunes)) },
	"summary":     func(i *item, s string) { setOnce(&i.Summary, clean(s, summaryRunes)) },
	"pubDate":     func(i *item, s string) { i.date(s) },
	"date":        func(i *item, s string) { i.date(s) },
	"published":   func(i *item, s string) { i.date(s) },
	"updated":     func(i *item, s string) { i.date(s) },
}

func setOnce(to *string, s string) {
	if *to == "" {
		*to = s
	}
}

var dateForms = []string{time.RFC3339, time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2006-01-02T15:04:05Z0700", time.DateTime, time.DateOnly}

func (i *item) date(s string) {
	for _, form := range dateForms {
		if at, err := time.Parse(form, strings.TrimSpace(s)); err == nil && i.At.IsZero() {
			i.At = at
			return
		}
	}
}

// entries reads the entries of a feed. What breaks off after the first entry counts as far as it came. Errors: it is no feed.
func entries(body []byte, kind string) ([]item, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	d.CharsetReader = charset
	r := reader{}
	for len(r.items) < itemsMost {
		token, err := d.Token()
		if err != nil {
			if len(r.items) == 0 && !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("cannot read feed: %w", err)
			}
			break
		}
		if err := r.take(token); err != nil {
			return nil, err
		}
	}
	if !r.feed {
		return nil, fmt.Errorf("cannot read feed: %s holds none", kind)
	}
	return r.items, nil
}

// charset reads what is not UTF-8, such as EUC-KR.
func charset(label string, in io.Reader) (io.Reader, error) {
	e, err := htmlindex.Get(label)
	if err != nil {
		return nil, fmt.Errorf("unknown character set %q", label)
	}
	return e.NewDecoder().Reader(in), nil
}

// reader follows the tokens of a feed. Only direct children of an entry count: what an entry quotes is not its own.
type reader struct {
	path  []string
	feed  bool
	open  *item
	depth int // of the open entry
	field string
	text  strings.Builder
	items []item
}

var roots = map[string]bool{"rss": true, "RDF": true, "feed": true}

func (r *reader) take(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return r.begin(t.Name.Local)
	case xml.CharData:
		if r.field != "" && r.text.Len() < fieldBytes {
			r.text.Write(t[:min(len(t), fieldBytes-r.text.Len())])
		}
	case xml.EndElement:
		r.end()
	}
	return nil
}

func (r *reader) begin(name string) error {
	if len(r.path) == 0 && !roots[name] {
		return fmt.Errorf("cannot read feed: it begins with %q", name)
	}
	r.feed = true
	if r.path = append(r.path, name); len(r.path) > depthMost {
		return errors.New("cannot read feed: it is nested too deep")
	}
	switch {
	case r.open == nil && (name == "item" || name == "entry"):
		r.open, r.depth = &item{}, len(r.path)
	case r.open != nil && len(r.path) == r.depth+1 && fields[name] != nil:
		r.field = name
		r.text.Reset()
	}
	return nil
}

func (r *reader) end() {
	if len(r.path) == 0 {
		return
	}
	switch {
	case r.open != nil && len(r.path) == r.depth:
		if r.open.Title != "" {
			r.items = append(r.items, *r.open)
		}
		r.open = nil
	case r.open != nil && len(r.path) == r.depth+1 && r.field != "":
		fields[r.field](r.open, r.text.String())
		r.field = ""
	}
	r.path = r.path[:len(r.path)-1]
}
