package linkfault

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"deviceagent/cloudlink"
	"deviceagent/testbed/netfault"
)

// story is one robot, one planner and one broker, and what is told of them: one fault at a time. Whatever was done, in the end both stores
// and the robot's log are held against each other.
type story struct {
	t    *testing.T
	cell *cell
	r    *robotOf
	book book
}

// told is how long a story waits for anything.
const told = 90 * time.Second

func begin(t *testing.T, tls bool) *story {
	t.Parallel()
	dir := t.TempDir()
	c, err := newCell(dir, 30)
	if err != nil {
		t.Fatal(err)
	}
	s := &story{t: t, cell: c}
	ended := false
	t.Cleanup(func() {
		if !ended {
			s.end()
		}
	})
	if s.r, err = c.newRobot("r1", time.Second, tls); err != nil {
		ended = true
		t.Fatal(err, c.close())
	}
	s.online()
	return s
}

func (s *story) until(what string, ok func() bool) {
	s.t.Helper()
	for limit := time.Now().Add(told); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			s.t.Fatalf("after %v not yet: %s; the link: %+v; struck: %v", told, what, s.r.link(), s.r.line.Counts())
		}
	}
}

func (s *story) online() { s.t.Helper(); s.until("online", func() bool { return online(s.r.link()) }) }
func (s *story) offline() {
	s.t.Helper()
	s.until("not online", func() bool { return notOnline(s.r.link()) })
}

// again waits for a connection after this one that is online.
func (s *story) again(before cloudlink.State) {
	s.t.Helper()
	s.until("online once more", func() bool { l := s.r.link(); return online(l) && l.ConnNo != before.ConnNo })
}

func (s *story) struck(line *netfault.Proxy, f netfault.Fault) {
	s.t.Helper()
	s.until(string(f)+" has struck", func() bool { return line.Counts()[f] > 0 && !line.Pending(f) })
}

// plan hands in a plan of two sentences, the second wait after the first.
func (s *story) plan(id string, wait time.Duration) *submitted {
	s.t.Helper()
	second := step(id, 2, true)
	if wait > 0 {
		second = strings.TrimSuffix(second, "}") + fmt.Sprintf(`,"temporal_relation":"after_planned_step","temporal_anchor_id":"s1","delay_ms":%d}`, wait.Milliseconds())
	}
	p := &submitted{id: id, robot: s.r.id, cell: s.cell, at: time.Now(), steps: []string{says(id, 1), says(id, 2)}, sure: 2}
	s.post(id, step(id, 1, false), second)
	s.book.plans = append(s.book.plans, p)
	return p
}

func (s *story) post(id string, steps ...string) {
	s.t.Helper()
	if err := s.r.post("/v1/devices/"+s.r.id+"/plans", planBody(id, 0, steps...)); err != nil {
		s.t.Fatal(err)
	}
}

// ended waits until the planner knows how each plan has ended, and has all that the robot had to say.
func (s *story) ended() {
	s.t.Helper()
	s.until("every plan has ended and every message has its receipt", func() bool {
		return len(s.book.sift(s.book.plans)) == 0 && s.r.unreceipted() == 0
	})
}

// said is how often the robot has said a sentence, by its own log.
func (s *story) said(text string) int {
	s.t.Helper()
	body, err := readBody(s.r.logPath())
	if err != nil {
		return 0 // a line that is being written
	}
	return body.spoken[text]
}

// end judges what is left on both disks and in the robot's log.
func (s *story) end() {
	if s.t.Failed() {
		_ = s.cell.close()
		return
	}
	s.r.line.Heal()
	s.cell.line.Heal()
	s.ended()
	if err := s.cell.close(); err != nil {
		s.t.Fatal(err)
	}
	rep := &Report{States: map[string]int{}, Refused: map[string]int{}}
	c := &campaign{cells: []*cell{s.cell}, book: book{plans: s.book.plans}}
	if err := c.judge(rep); err != nil {
		s.t.Fatal(err)
	}
	if rep.States["completed"] != len(s.book.plans) {
		s.t.Errorf("%d plans, and how they ended: %v", len(s.book.plans), rep.States)
	}
	if !rep.Good() {
		s.t.Errorf("not as promised: %v", rep.Never)
	}
}

// ear is a subscriber beside, with no proxy before it, that keeps what passes; with the name planner it can also speak as one.
type ear struct {
	client mqtt.Client
	mu     sync.Mutex
	heard  map[string][][]byte // by what stands behind the device's id, as in up/ack
}

func (s *story) listen(as string) *ear {
	s.t.Helper()
	e := &ear{heard: map[string][][]byte{}}
	o := beside(s.cell.broker.Addr, as).SetClientID("story-" + as)
	e.client = mqtt.NewClient(o)
	s.t.Cleanup(func() { e.client.Disconnect(0) })
	s.wait(e.client.Connect())
	if as == "witness" {
		s.wait(e.client.Subscribe("deviceagent/v1/#", 1, func(_ mqtt.Client, m mqtt.Message) {
			e.mu.Lock()
			defer e.mu.Unlock()
			kind := strings.TrimPrefix(m.Topic(), "deviceagent/v1/"+s.r.id+"/")
			e.heard[kind] = append(e.heard[kind], m.Payload())
		}))
	}
	return e
}

func (s *story) wait(token mqtt.Token) {
	s.t.Helper()
	if !token.WaitTimeout(told) || token.Error() != nil {
		s.t.Fatal("a client beside: ", token.Error())
	}
}

func (s *story) say(e *ear, kind string, retain bool, payload []byte) {
	s.t.Helper()
	s.wait(e.client.Publish("deviceagent/v1/"+s.r.id+"/"+kind, 1, retain, payload))
}

func (e *ear) of(kind string) [][]byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([][]byte{}, e.heard[kind]...)
}

// seen is how the planner sees the robot's link.
func (s *story) seen() string {
	var v struct {
		Link string `json:"link"`
	}
	_, _ = s.cell.call("GET", "/v1/devices/"+s.r.id, nil, &v)
	return v.Link
}

func (s *story) stateFile(name string) string { return filepath.Join(s.r.dir, name) }
