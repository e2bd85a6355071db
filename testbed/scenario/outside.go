package scenario

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"deviceagent/cloudlink/planner/agents"
	"deviceagent/packaging/documents"
)

// outside plays the services that information comes from, in memory: a fake, and what it tells is made up. Each piece of news says when it
// was asked for, so that the words of the robot tell when it was looked up.
type outside struct {
	mu    sync.Mutex
	how   string // rain, dry, down, late
	asked []lookUp
	door  *door
	serve *http.Server
	ended chan error
}

// lookUp is one question to a service.
type lookUp struct {
	what string
	at   time.Time
}

// outsides are the ways in which the services may be; none: the planner knows of no service.
var outsides = []string{"rain", "dry", "down", "late", "none"}

func knownOutside(how string) error {
	if !slices.Contains(outsides, how) {
		return fmt.Errorf("outside %q: want one of %s", how, strings.Join(outsides, ", "))
	}
	return nil
}

// openOutside begins the services, and makes the agents that look there. Nil and no agents where a scenario names none.
func openOutside(how string) (*outside, *agents.Agents, error) {
	if how == "" {
		return nil, nil, nil
	}
	o := &outside{how: how, door: newDoor(), ended: make(chan error, 1)}
	o.serve = &http.Server{Handler: http.HandlerFunc(o.answer)}
	go func() { o.ended <- o.serve.Serve(o.door) }()
	src := agents.Sources{Documents: documents.Files}
	if how != "none" {
		const at = "http://outside.example/"
		src.Feeds = []agents.Feed{{Name: "뉴스", URL: at + "news"}, {Name: "교통", URL: at + "traffic"}}
		src.WeatherURL, src.Places = at+"weather", []agents.Place{{Name: "서울", Latitude: 37.57, Longitude: 126.98}}
		src.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return o.door.dial(ctx) }
	}
	a, err := agents.New(src)
	return o, a, err
}

func (o *outside) close() {
	if o == nil {
		return
	}
	_ = o.serve.Close()
	_ = o.door.Close()
	<-o.ended
}

// set changes how the services are from now on.
func (o *outside) set(how string) error {
	if o == nil {
		return fmt.Errorf("outside %s: the scenario's header names no outside", how)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.how = how
	return knownOutside(how)
}

// korea is where the news are read.
var korea = time.FixedZone("KST", 9*3600)

func (o *outside) answer(w http.ResponseWriter, r *http.Request) {
	now := time.Now().In(korea)
	what := strings.TrimPrefix(r.URL.Path, "/")
	o.mu.Lock()
	how := o.how
	o.asked = append(o.asked, lookUp{what, now})
	o.mu.Unlock()
	switch how {
	case "down":
		w.WriteHeader(http.StatusInternalServerError)
		return
	case "late":
		<-r.Context().Done()
		return
	}
	code, chance := 61, 80
	if how == "dry" {
		code, chance = 0, 10
	}
	clock := fmt.Sprintf("%d시 %d분", now.Hour(), now.Minute())
	switch what {
	case "weather":
		_, _ = fmt.Fprintf(w, `{"utc_offset_seconds":32400,"daily":{"time":[%q,%q],"weather_code":[%d,3],"temperature_2m_max":[9.2,7],"temperature_2m_min":[2.4,1],"precipitation_probability_max":[%d,20]}}`,
			now.Format(time.DateOnly), now.AddDate(0, 0, 1).Format(time.DateOnly), code, chance)
	case "traffic":
		feed(w, now, "강변로 "+clock+" 현재 정체", "중앙로 서행")
	default:
		feed(w, now, clock+" 시민 공원 새로 문 열어", "강변로 야간 공사 예고")
	}
}

func feed(w http.ResponseWriter, now time.Time, titles ...string) {
	_, _ = fmt.Fprint(w, `<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>fake</title>`)
	for i, title := range titles {
		_, _ = fmt.Fprintf(w, `<item><title>%s</title><pubDate>%s</pubDate></item>`, title, now.Add(-time.Duration(i)*time.Hour).Format(time.RFC1123Z))
	}
	_, _ = fmt.Fprint(w, `</channel></rss>`)
}

// lookedUp are the questions to the services, with the time since the scenario began.
func (o *outside) lookedUp(start time.Time) (out []Fact) {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	asked := slices.Clone(o.asked)
	slices.SortFunc(asked, func(a, b lookUp) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.what, b.what)) }) // feeds are read beside each other
	for _, a := range asked {
		out = append(out, Fact{"fetched", fmt.Sprintf("%s at +%v", a.what, a.at.Sub(start).Round(100*time.Millisecond))})
	}
	return out
}
