package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// toldMost is how many entries are told at once: more than that nobody keeps in mind.
const toldMost = 4

// news looks entries up in the feeds of a topic, and where nothing is found there, at the search, if there is one.
func (a *Agents) news(ctx context.Context, t Task) Outcome {
	topic := t.topic()
	query := strings.TrimSpace(t.text("query") + " " + t.text("place"))
	feeds := a.feedsOf(topic)
	if len(feeds) == 0 && a.sources.SearchURL == "" {
		return Outcome{Reason: ReasonMissing}
	}
	items, err := a.collect(ctx, feeds, t.Now)
	items = chosen(items, query, topic)
	if len(items) == 0 && a.sources.SearchURL != "" && query != "" {
		items, err = a.search(ctx, query)
	}
	switch {
	case len(items) == 0 && err != nil:
		return Outcome{Reason: reasonOf(err)}
	case len(items) == 0:
		return Outcome{Reason: ReasonNotFound}
	}
	return told(t, topic, items[:min(len(items), toldMost)])
}

// told makes sentences of entries. What a stranger wrote is quoted as what it is, behind the name of who said it.
func told(t Task, topic string, items []item) Outcome {
	intro := map[string]string{"news": "news_intro", "traffic": "traffic_intro"}[topic]
	lines := []string{say(t.Locale, cmp.Or(intro, "search_intro"))}
	var titles []any
	for _, it := range items {
		title := strings.TrimRight(it.Title, ".。 ")
		titles = append(titles, title)
		key := "plain_title"
		if it.Source != "" {
			key = "source"
		}
		lines = append(lines, say(t.Locale, key, "source", it.Source, "title", title))
	}
	text := strings.Join(lines, " ")
	return Outcome{Text: text, Words: inOrder(lines, "progress"), RetrievedAt: t.Now,
		Output: map[string]any{"text": text, "items": titles, "found": float64(len(items)), "retrieved_at": t.Now.UTC().Format(time.RFC3339)}}
}

// feedsOf are the feeds of a topic by their names; of a search all are looked through.
func (a *Agents) feedsOf(topic string) (out []Feed) {
	for _, f := range a.sources.Feeds {
		if topic == "search" || TopicOf(f.Name) == topic || topic == "news" && TopicOf(f.Name) == "search" {
			out = append(out, f)
		}
	}
	return out
}

// collect reads feeds beside each other. It gives what came, newest first; the error is that of a feed that did not come.
func (a *Agents) collect(ctx context.Context, feeds []Feed, now time.Time) (all []item, failed error) {
	found, errs := make([][]item, len(feeds)), make([]error, len(feeds))
	var wg sync.WaitGroup
	for i, f := range feeds {
		wg.Go(func() { found[i], errs[i] = a.feed(ctx, f, now) })
	}
	wg.Wait()
	for i := range feeds {
		all = append(all, found[i]...)
		failed = cmp.Or(failed, errs[i])
	}
	slices.SortStableFunc(all, func(x, y item) int { return y.At.Compare(x.At) })
	return all, failed
}

// feed reads one. One whose newest entry is older than MaxAge is stale: it is no news that nothing has come since.
func (a *Agents) feed(ctx context.Context, f Feed, now time.Time) ([]item, error) {
	body, kind, err := a.fetch.get(ctx, f.URL)
	if err != nil {
		return nil, err
	}
	items, err := entries(body, kind)
	if err != nil {
		return nil, &fault{ReasonUnreadable, err}
	}
	var newest time.Time
	for i := range items {
		items[i].Source = clean(f.Name, titleRunes)
		if items[i].At.After(newest) {
			newest = items[i].At
		}
	}
	if age := now.Sub(newest); !newest.IsZero() && age > cmp.Or(a.sources.MaxAge, defaultMaxAge) {
		return nil, &fault{ReasonStale, fmt.Errorf("its newest entry is %v old", age.Round(time.Hour))}
	}
	return items, nil
}

// chosen are the entries that have a word of the query; the query of a topic that has feeds of its own only orders them.
func chosen(items []item, query, topic string) []item {
	words := queryWords(query)
	if len(words) == 0 {
		return items
	}
	hits := func(it item) (n int) {
		text := folded(it.Title + it.Summary)
		for _, w := range words {
			if strings.Contains(text, w) {
				n++
			}
		}
		return n
	}
	best := slices.Clone(items)
	slices.SortStableFunc(best, func(x, y item) int { return hits(y) - hits(x) })
	none := slices.IndexFunc(best, func(it item) bool { return hits(it) == 0 })
	switch {
	case none < 0:
		return best
	case none == 0 && topic != "search":
		return items
	}
	return best[:none]
}

// search asks the search for web pages. Its titles are told as they are, with where they stand.
func (a *Agents) search(ctx context.Context, query string) ([]item, error) {
	u, err := url.Parse(a.sources.SearchURL)
	if err != nil {
		return nil, &fault{ReasonUnreachable, err}
	}
	q := u.Query()
	q.Set("q", clean(query, titleRunes))
	q.Set("format", "json")
	u.RawQuery = q.Encode()
	body, _, err := a.fetch.get(ctx, u.String())
	if err != nil {
		return nil, err
	}
	var answer struct {
		Results []struct {
			Title   string `json:"title"`
			URL     string `json:"url"`
			Content string `json:"content"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, &fault{ReasonUnreadable, err}
	}
	var items []item
	for _, r := range answer.Results[:min(len(answer.Results), itemsMost)] {
		it := item{Title: clean(r.Title, titleRunes), Summary: clean(r.Content, summaryRunes)}
		if page, err := url.Parse(r.URL); err == nil {
			it.Source = clean(page.Hostname(), titleRunes)
		}
		if it.Title != "" {
			items = append(items, it)
		}
	}
	return items, nil
}
