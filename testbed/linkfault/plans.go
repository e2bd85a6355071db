package linkfault

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// submitted is one plan that the planner has taken, and what has to come of it.
type submitted struct {
	id, robot string
	cell      *cell
	steps     []string // what is said, in order
	sure      int      // how many of them belong to it whatever became of its revision
	cancelled bool
	ended     bool
	at        time.Time
	took      time.Duration
}

// book keeps every plan that was submitted.
type book struct {
	mu    sync.Mutex
	plans []*submitted
	n     atomic.Int64
	ended atomic.Int64
}

// window is how many plans a robot may have open.
const window = 4

// kinds of plans, with how often one is chosen.
var mix = []struct {
	name string
	of   int
}{{"one", 20}, {"two", 45}, {"five", 12}, {"cancel", 9}, {"asks", 8}, {"revised", 6}, {"cloud", 12}, {"held", 8}}

func draw(rnd *rand.Rand) string {
	all := 0
	for _, m := range mix {
		all += m.of
	}
	n := rnd.IntN(all)
	for _, m := range mix {
		if n -= m.of; n < 0 {
			return m.name
		}
	}
	return mix[0].name
}

func says(id string, n int) string { return fmt.Sprintf("%s s%d", id, n) }

func step(id string, n int, after bool) string {
	deps := ""
	if after {
		deps = fmt.Sprintf(`,"depends_on":["s%d"]`, n-1)
	}
	return fmt.Sprintf(`{"cloud_step_id":"s%d","taskMethod":"%s","params":{"text":"%s"}%s}`, n, speak, says(id, n), deps)
}

func planBody(id string, revision int, steps ...string) []byte {
	return fmt.Appendf(nil, `{"workflow":{"cloud_workflow_id":"%s","plan_id":"p-%s","revision":%d,"ttl_ms":3600000},"device_task_requests":[%s]}`, id, id, revision, strings.Join(steps, ","))
}

// submit hands in one plan of a kind and says what has to come of it.
func (b *book) submit(r *robotOf, rnd *rand.Rand, stop <-chan struct{}) (*submitted, error) {
	kind, n := draw(rnd), b.n.Add(1)
	if n <= int64(len(mix)) { // each kind comes, however small the campaign is
		kind = mix[n-1].name
	}
	p := &submitted{id: fmt.Sprintf("wf-%s-%d", r.id, n), robot: r.id, cell: r.cell, at: time.Now()}
	count := map[string]int{"one": 1, "two": 2, "five": 5, "cancel": 3, "asks": 1, "revised": 2, "cloud": 1, "held": 3}[kind]
	var steps []string
	for n := 1; n <= count; n++ {
		steps = append(steps, step(p.id, n, n > 1))
		p.steps = append(p.steps, says(p.id, n))
	}
	p.sure = count
	if kind == "held" { // long enough for a control that was lost to come again, after newer ones
		after := fmt.Sprintf(`,"temporal_relation":"after_planned_step","temporal_anchor_id":"s1","delay_ms":%d}`, 80_000/r.cell.pace)
		steps[1] = strings.TrimSuffix(steps[1], "}") + after
	}
	if kind == "asks" {
		steps = append(steps, fmt.Sprintf(`{"cloud_step_id":"bad","taskMethod":"%s","params":{"on":true},"depends_on":["s1"]}`, fails))
	}
	if kind == "cloud" {
		steps = append(steps, `{"cloud_step_id":"c","execution_target":"cloud","skill":"fresh_information_brief","output_key":"news","depends_on":["s1"],"timeout_ms":3600000}`,
			fmt.Sprintf(`{"cloud_step_id":"s2","taskMethod":"%s","params":{"text":"%s"},"depends_on":["c"]}`, speak, says(p.id, 2)))
		p.steps, p.sure = append(p.steps, says(p.id, 2)), 2
	}
	if err := r.post("/v1/devices/"+r.id+"/plans", planBody(p.id, 0, steps...)); err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.plans = append(b.plans, p)
	b.mu.Unlock()
	switch kind {
	case "cancel":
		pause(rnd.IntN(300), stop)
		p.cancelled = true
		return p, r.post("/v1/workflows/"+p.id+"/cancel", []byte(`{"reason":"campaign"}`))
	case "held": // the last wish is that it goes on
		for _, wish := range []string{"pause", "resume", "pause", "resume"} {
			pause(rnd.IntN(60), stop)
			if err := r.post("/v1/workflows/"+p.id+"/"+wish, []byte(`{"reason":"campaign"}`)); err != nil {
				return p, err
			}
		}
	case "revised":
		pause(rnd.IntN(200), stop)
		p.steps = append(p.steps, says(p.id, 3))
		return p, r.post("/v1/devices/"+r.id+"/plans", planBody(p.id, 1, append(steps, step(p.id, 3, true))...))
	}
	return p, nil
}

// post asks until the planner has answered: a planner that is away may have taken it, and then says so again. What it refuses since the
// plan has ended meanwhile is no fault.
func (r *robotOf) post(path string, body []byte) error {
	for {
		status, err := r.cell.call("POST", path, body, nil)
		switch {
		case errors.Is(err, errAway) || status >= 500 || status == 429: // 5xx: of one that is being killed
			pause(50, nil)
		case status == 409:
			return nil
		default:
			return err
		}
	}
}

func pause(ms int, stop <-chan struct{}) {
	t := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
	case <-stop:
	}
}

// work keeps plans open at a robot until stop, then waits until all have ended, or until give.
func (b *book) work(r *robotOf, rnd *rand.Rand, stop <-chan struct{}, give <-chan struct{}) error {
	var open []*submitted
	for {
		done := false
		select {
		case <-stop:
			done = true
		default:
		}
		if !done && len(open) < window {
			p, err := b.submit(r, rnd, stop)
			if err != nil {
				return err
			}
			open = append(open, p)
			continue
		}
		open = b.sift(open)
		if done && len(open) == 0 {
			return nil
		}
		select {
		case <-give:
			return nil
		default:
			pause(40, nil)
		}
	}
}

// sift takes out what has ended, as the planner knows it.
func (b *book) sift(open []*submitted) (still []*submitted) {
	for _, p := range open {
		var v struct {
			Status     string `json:"status"`
			Submission string `json:"submission"`
		}
		_, err := p.cell.call("GET", "/v1/workflows/"+p.id, nil, &v)
		if err != nil || v.Status == "" && v.Submission != "refused" && v.Submission != "expired" {
			still = append(still, p)
			continue
		}
		p.ended, p.took = true, time.Since(p.at)
		b.ended.Add(1)
	}
	return still
}
