package agents

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// now is a Monday evening in Seoul.
var now = time.Date(2026, 11, 30, 18, 0, 0, 0, time.FixedZone("KST", 9*3600))

// serve runs a source on this machine.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, body) }
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// cutOff promises more than it sends.
func cutOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100000")
	_, _ = fmt.Fprint(w, `<rss version="2.0"><channel><item><title>반쪽`)
}

func build(t *testing.T, src Sources) *Agents {
	t.Helper()
	a, err := New(src)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func do(t *testing.T, a *Agents, skill string, inputs map[string]any) Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return a.Do(ctx, Task{Skill: skill, Inputs: inputs, Locale: "ko-KR", Now: now, Tells: true})
}

func in(text string) turn.Input { return turn.Input{Text: text, Locale: "ko-KR", Now: now} }

func after(id string) []wire.Dependency { return []wire.Dependency{{Step: id}} }

const forecastJSON = `{"utc_offset_seconds":32400,"daily":{"time":["2026-11-30","2026-12-01"],"weather_code":[61,0],"temperature_2m_max":[9.4,5],"temperature_2m_min":[2.6,-3.2],"precipitation_sum":[4.2,0],"precipitation_probability_max":[80,0]}}`

const feedXML = `<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>뉴스</title>
<item><title>한강 다리 야간 조명 새로 단장</title><description>&lt;p&gt;다리 &lt;b&gt;세 곳&lt;/b&gt;의 조명이 바뀐다.&lt;/p&gt;</description><pubDate>Mon, 30 Nov 2026 08:00:00 +0900</pubDate></item>
<item><title>겨울 철새 서해안 도착</title><pubDate>Mon, 30 Nov 2026 07:00:00 +0900</pubDate></item></channel></rss>`

var manual = fstest.MapFS{
	"manual.md": {Data: []byte("# 설명서\n\n## 필터 교체\n\n필터는 여섯 달에 한 번 교체하세요.\n\n## 충전\n\n배터리가 부족하면 충전대로 돌아가요.\n")},
	"en.md":     {Data: []byte("# Manual\n\n## Filter change\n\nReplace the filter every six months.\n")},
	"logo.png":  {Data: []byte("no text")},
}
