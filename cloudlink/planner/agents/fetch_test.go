package agents

import (
	"context"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Whatever a source does, the answer is a sentence with a reason: never its bytes, never an invention.
func TestSourcesThatLie(t *testing.T) {
	deep := "<rss>" + strings.Repeat("<a>", 100)
	for _, tc := range []struct {
		name string
		h    http.HandlerFunc
		want string // of a feed
		of   string // of the weather
	}{
		{"not found", status(404), ReasonFailed, ReasonFailed},
		{"forbidden", status(403), ReasonFailed, ReasonFailed},
		{"too many requests", status(429), ReasonBusy, ReasonBusy},
		{"a fault of its own", status(500), ReasonFailed, ReasonFailed},
		{"overloaded", status(503), ReasonBusy, ReasonBusy},
		{"no content", status(204), ReasonFailed, ReasonFailed},
		{"nothing", text(""), ReasonUnreadable, ReasonUnreadable},
		{"a page", text("<!DOCTYPE html><html><body>sign in</body></html>"), ReasonUnreadable, ReasonUnreadable},
		{"prose", text("오늘은 맑겠습니다"), ReasonUnreadable, ReasonUnreadable},
		{"half of it", cutOff, ReasonUnreachable, ReasonUnreachable},
		{"XML that is none", text("<rss><channel><item><title>a</item"), ReasonUnreadable, ReasonUnreadable},
		{"nested too deep", text(deep), ReasonUnreadable, ReasonUnreadable},
		{"an unknown character set", text(`<?xml version="1.0" encoding="x-nobody"?><rss/>`), ReasonUnreadable, ReasonUnreadable},
		{"a feed of nothing", text("<rss><channel></channel></rss>"), ReasonNotFound, ReasonUnreadable},
		{"old news", text(strings.ReplaceAll(feedXML, "Nov 2026", "Oct 2026")), ReasonStale, ReasonUnreadable},
		{"JSON that is another", text(`{"error":true,"reason":"limit"}`), ReasonUnreadable, ReasonStale},
		{"half a forecast", text(forecastJSON[:60]), ReasonUnreadable, ReasonUnreadable},
		{"yesterday's forecast", text(strings.ReplaceAll(forecastJSON, "2026-11-30", "2026-11-29")), ReasonUnreadable, ReasonStale},
		{"a heat that cannot be", text(strings.ReplaceAll(forecastJSON, "9.4", "940")), ReasonUnreadable, ReasonUnreadable},
		{"a day without values", text(`{"daily":{"time":["2026-11-30"]}}`), ReasonUnreadable, ReasonUnreadable},
		{"values that are words", text(`{"daily":{"time":["2026-11-30"],"weather_code":["rain"]}}`), ReasonUnreadable, ReasonUnreadable},
		{"a feed larger than may be", text(feedXML + strings.Repeat(" ", maxBody)), ReasonUnreadable, ReasonUnreadable},
		{"a forecast larger than may be", text(forecastJSON + strings.Repeat(" ", maxBody)), ReasonUnreadable, ReasonUnreadable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url := serve(t, tc.h)
			a := build(t, Sources{Feeds: []Feed{{"뉴스", url}}, WeatherURL: url})
			for topic, want := range map[string]string{"news": tc.want, "weather": tc.of} {
				out := do(t, a, SkillBrief, map[string]any{"topic": topic})
				if out.Reason != want || out.Text != say("ko-KR", want) || len(out.Words) != 1 || !out.Words[0].Last || out.Words[0].Act != "failed" || !out.RetrievedAt.IsZero() || out.Output != nil {
					t.Errorf("%s: %+v, want %s", topic, out, want)
				}
			}
		})
	}
}

func TestNobodyIsThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	_ = l.Close()
	if out := do(t, build(t, Sources{WeatherURL: url}), SkillBrief, map[string]any{"topic": "weather"}); out.Reason != ReasonUnreachable {
		t.Errorf("%+v", out)
	}
	for _, topic := range []string{"weather", "news", "traffic", "search"} {
		if out := do(t, build(t, Sources{}), SkillBrief, map[string]any{"topic": topic}); out.Reason != ReasonMissing || !strings.Contains(out.Text, "설정") {
			t.Errorf("%s without a source: %+v", topic, out)
		}
	}
}

// A source that stalls costs its own deadline, and no more.
func TestStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := build(t, Sources{WeatherURL: "http://weather.example/v1", Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			t.Cleanup(func() { _ = theirs.Close() })
			go func() { _, _ = theirs.Read(make([]byte, 4096)) }() // it hears the question, and says nothing
			return ours, nil
		}})
		began := time.Now()
		out := do(t, a, SkillBrief, map[string]any{"topic": "weather"})
		if took := time.Since(began); out.Reason != ReasonLate || took != callDeadline {
			t.Errorf("%+v after %v", out, took)
		}
	})
}

// The settings may name a server of the home's own network. Nobody else may send us there.
func TestRedirects(t *testing.T) {
	inside := serve(t, text(forecastJSON))
	away := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	loop := ""
	loop = serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, loop, http.StatusFound) })
	for _, tc := range []struct {
		name    string
		url     string
		private bool
		want    string
	}{
		{"named by the settings", inside, false, ""},
		{"sent to an address of this machine", serve(t, away(inside)), false, ReasonUnreachable},
		{"sent there by a name", serve(t, away(strings.ReplaceAll(inside, "127.0.0.1", "localhost"))), false, ReasonUnreachable},
		{"sent there where that is allowed", serve(t, away(inside)), true, ""},
		{"sent to a file", serve(t, away("file:///etc/passwd")), true, ReasonUnreachable},
		{"sent in a circle", loop, false, ReasonUnreachable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := build(t, Sources{WeatherURL: tc.url, Private: tc.private})
			if out := do(t, a, SkillBrief, map[string]any{"topic": "weather"}); out.Reason != tc.want {
				t.Errorf("%+v, want reason %q", out, tc.want)
			}
		})
	}
}

func TestPublicAddresses(t *testing.T) {
	f := newFetcher(Sources{})
	for _, addr := range []string{"127.0.0.1:80", "10.1.2.3:80", "192.168.0.1:80", "169.254.169.254:80", "100.64.0.1:80", "[::1]:80", "[fe80::1]:80", "[fd00::1]:80", "[::ffff:10.0.0.1]:80", "0.0.0.0:80", "0.1.2.3:80", "240.0.0.1:80", "198.18.0.1:80",
		"[64:ff9b::a00:1]:80", "[2002:a00:1::]:80", "[::10.0.0.1]:80", "[fec0::1]:80"} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		c, err := f.dial(ctx, "tcp", addr)
		cancel()
		if err == nil {
			_ = c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), errPrivate.Error()) {
			t.Errorf("%s was dialled: %v", addr, err)
		}
	}
	for _, addr := range []string{"8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2001:4860:4860::8888"} {
		if !public(netip.MustParseAddr(addr)) {
			t.Errorf("%s is not public", addr)
		}
	}
}

func TestSettingsWithFaults(t *testing.T) {
	for _, tc := range []struct {
		name string
		src  Sources
		want string
	}{
		{"address that is a path", Sources{Feeds: []Feed{{"뉴스", "/feed"}}}, "no http"},
		{"address of a file", Sources{WeatherURL: "file:///etc/passwd"}, "no http"},
		{"password in an address", Sources{SearchURL: "http://a:b@example.org/"}, "password"},
		{"feed without a name", Sources{Feeds: []Feed{{"", "http://example.org/"}}}, "name of its own"},
		{"two feeds of one name", Sources{Feeds: []Feed{{"a", "http://example.org/1"}, {"a", "http://example.org/2"}}}, "name of its own"},
		{"place without weather", Sources{Places: []Place{{"서울", 37.5, 127}}}, "weather address"},
		{"place off the globe", Sources{WeatherURL: "http://example.org/", Places: []Place{{"서울", 127, 37.5}}}, "latitude"},
		{"place that is nowhere", Sources{WeatherURL: "http://example.org/", Places: []Place{{"서울", math.NaN(), 127}}}, "latitude"},
	} {
		if _, err := New(tc.src); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}
