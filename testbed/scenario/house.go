package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/broker"
	"deviceagent/testbed/home"
	"deviceagent/testbed/robot"
)

// house is everything that takes part in one scenario.
type house struct {
	cat      *catalog.Catalog
	start    time.Time // of the scenario: the house is quiet
	born     time.Time // of the robot
	broker   *broker.Broker
	witness  *broker.Recorder
	cloud    *cloud
	device   *device
	robot    *robot.Robot
	log      *robotLog
	gone     chan error // the robot's end
	stopBody context.CancelFunc
	ids      ids
	mark     int // entries of the robot's log at the last stimulus

	facts []Fact // what was answered to what was said and handed in
	named []core.WorkflowID
}

// robotLog keeps the robot's own log.
type robotLog struct {
	mu      sync.Mutex
	entries []home.Entry
	news    chan struct{}
}

func (l *robotLog) add(e home.Entry) {
	l.mu.Lock()
	l.entries = append(l.entries, e)
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (l *robotLog) all() []home.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

func (l *robotLog) len() int { return len(l.all()) }

// await waits until the log, from an entry on, tells of an event, or of an invoke of the method of that name.
func (l *robotLog) await(from int, name string, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		if slices.ContainsFunc(l.all()[from:], func(e home.Entry) bool {
			return e.Event == name && e.Kind == home.KindEvent || e.Method == name && e.Kind == home.KindInvoke
		}) {
			return true
		}
		select {
		case <-l.news:
		case <-timer.C:
			return false
		}
	}
}

// begin is when scenarios begin: late enough for every floor that a clock has.
var begin = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// open builds the house. It must be called inside a bubble; close is due whatever it returns.
func (h *house) open(s *Scenario, dir string, words catalogfile.Planner, narrate io.Writer, log zerolog.Logger) (err error) {
	time.Sleep(time.Until(begin))
	h.broker, h.log, h.gone = broker.New(), &robotLog{news: make(chan struct{}, 1)}, make(chan error, 1)
	h.witness = h.broker.Subscribe("deviceagent/v1/#")
	side := func(name string) zerolog.Logger { return log.With().Str("side", name).Logger() }
	if h.cloud, err = startCloud(dir, h.cat, words, h.broker.Dial, h.ids.next, side("cloud")); err != nil {
		return err
	}
	h.device = &device{dir: dir, cat: h.cat, json: s.JSON, broker: h.broker.Dial, newID: h.ids.next, log: side("device")}
	if err = h.device.start(context.Background()); err != nil {
		return err
	}
	if err = h.startRobot(s, narrate); err != nil {
		return err
	}
	time.Sleep(time.Minute) // the hello is over, the context was read
	h.rest()
	h.start = time.Now()
	return nil
}

func (h *house) startRobot(s *Scenario, narrate io.Writer) (err error) {
	h.born = time.Now()
	h.robot, err = robot.New(robot.Options{Dial: h.device.dial, Instance: "home-1", Out: narrate, Lost: func(error, time.Duration) {},
		Home: home.Options{Start: s.Start, Faults: s.Home, Log: h.log.add}})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	h.stopBody = stop
	go func() { h.gone <- h.robot.Run(ctx) }()
	for _, command := range s.Given {
		if err := h.robot.Command(command); err != nil {
			return err
		}
	}
	return nil
}

// rest waits until nobody has anything to do before time passes.
func (h *house) rest() { synctest.Wait() }

// close ends everything that was started, and waits for it.
func (h *house) close() (err error) {
	if h.stopBody != nil {
		h.stopBody()
		err = <-h.gone
	}
	if h.device != nil {
		err = errors.Join(err, h.device.close())
	}
	if h.cloud != nil {
		err = errors.Join(err, h.cloud.close())
	}
	h.broker.Close()
	return err
}

func (h *house) note(kind, format string, args ...any) {
	h.facts = append(h.facts, Fact{kind, plain(fmt.Sprintf(format, args...))})
}

// say is a person speaking to the planner.
func (h *house) say(arg string) error {
	locale, text := "ko-KR", arg
	if word, rest, ok := strings.Cut(arg, " "); ok && (word == "en-US" || word == "ko-KR") {
		locale, text = word, rest
	}
	body, err := json.Marshal(map[string]any{"device_id": deviceID, "recognized_text": strings.Trim(text, `"`), "locale": locale})
	if err != nil {
		return err
	}
	var a struct {
		Decision   turn.Decision  `json:"decision"`
		Dispatched bool           `json:"dispatched"`
		Requests   []wire.Request `json:"device_task_requests"`
		Reply      string         `json:"tts_response"`
		WorkflowID string         `json:"workflow_id"`
		ModelCalls int64          `json:"model_calls"`
	}
	refused, err := h.cloud.call("POST", "/v1/turns", body, &a)
	if err != nil {
		return err
	}
	if refused != nil {
		h.note("refused", "turn %s", refused)
		return nil
	}
	what := "sends nothing"
	if a.Dispatched {
		what = fmt.Sprintf("sends %d steps", len(a.Requests))
	}
	h.note("turn", "%s %s, model calls %d", a.Decision.OwnerSelection, what, a.ModelCalls)
	h.note("reply", "%q", a.Reply)
	h.name(a.WorkflowID)
	return nil
}

// name gives a workflow its number: w1, w2, … in the order of their first mention.
func (h *house) name(id string) {
	if id != "" && !slices.Contains(h.named, core.WorkflowID(id)) {
		h.named = append(h.named, core.WorkflowID(id))
	}
}

// plan hands a raw plan to the planner's endpoint; checked: the endpoint judges it, else only the device does.
func (h *house) plan(body string, checked bool) error {
	var a struct {
		WorkflowID string `json:"workflow_id"`
	}
	refused, err := h.cloud.call("POST", fmt.Sprintf("/v1/devices/%s/plans?check=%v", deviceID, checked), []byte(body), &a)
	if err == nil && refused != nil {
		h.note("refused", "plan %s", refused)
	}
	h.name(a.WorkflowID)
	return err
}

func (p *problem) String() string { return p.Code + faultText(p.Faults) }

// faultText is every fault with its place.
func faultText(faults []wire.Fault) string {
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&b, "; %s", plain(f.Path+" "+f.ReasonCode))
	}
	return b.String()
}

// cancel asks the endpoint to cancel a workflow by its number.
func (h *house) cancel(arg string) error {
	var n int
	if _, err := fmt.Sscanf(arg, "w%d", &n); err != nil || n < 1 || n > len(h.named) {
		return fmt.Errorf("cannot cancel %q: %d workflows are known", arg, len(h.named))
	}
	var a struct {
		State string `json:"state"`
	}
	refused, err := h.cloud.call("POST", "/v1/workflows/"+string(h.named[n-1])+"/cancel", []byte(`{"requested_by":"user"}`), &a)
	if err == nil && refused != nil {
		h.note("refused", "cancel %s", refused)
	}
	return err
}

// frame puts an envelope around a plan's body.
func (h *house) frame(body string) ([]byte, error) {
	if !json.Valid([]byte(body)) {
		return nil, errors.New("the body is not JSON: use raw")
	}
	return json.Marshal(map[string]any{"v": wire.Version, "type": wire.TypePlan, "id": h.ids.next(), "device_id": deviceID,
		"sent_at": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "seq": h.ids.n.Load(), "body": json.RawMessage(body)})
}

// submit hands a plan in on the robot itself: the way of the local socket.
func (h *house) submit(arg string) error {
	payload, raw := strings.CutPrefix(arg, "raw ")
	data := []byte(payload)
	if !raw {
		var err error
		if data, err = h.frame(arg); err != nil {
			return err
		}
	}
	ans, err := h.device.agent.Manager().Receive(context.Background(), data, taskmanager.FromLocal)
	if err != nil {
		return err
	}
	h.note("answer", "%s", ackText(ans.Accepted, string(ans.Reason), faultsOf(ans.Faults)))
	return nil
}

func faultsOf(in []core.Fault) (out []wire.Fault) {
	for _, f := range in {
		out = append(out, wire.Fault{Path: f.Path, ReasonCode: string(f.Reason), Message: f.Message})
	}
	return out
}

func ackText(accepted bool, reason string, faults []wire.Fault) string {
	word := "refused"
	if accepted {
		word = "accepted"
	}
	return strings.TrimSpace(word+" "+reason) + faultText(faults)
}

// publish sends bytes to the device's plan topic from outside, as a faulty planner would.
func (h *house) publish(arg string) error {
	return h.broker.Publish("deviceagent/v1/"+deviceID+"/down/plan", []byte(strings.TrimPrefix(arg, "raw ")), false)
}

// setLink tears the device's line to the broker, or mends it.
func (h *house) setLink(arg string) error {
	switch arg {
	case "down":
		h.device.net.tear()
	case "up":
		h.device.net.mend()
	default:
		return fmt.Errorf("link %q: want up or down", arg)
	}
	return nil
}

// settle lets time pass until all work has ended and the body is at rest, and then the tail.
func (h *house) settle(tail time.Duration) error {
	limit := time.Now().Add(patience)
	for {
		time.Sleep(time.Second)
		h.rest()
		open, err := h.unfinished()
		if err != nil {
			return err
		}
		if open == 0 && !moving(h.log.all()) {
			break
		}
		if time.Now().After(limit) {
			return fmt.Errorf("%d workflows are still open after %v", open, patience)
		}
	}
	time.Sleep(tail)
	h.rest()
	return nil
}

// unfinished counts the open workflows.
func (h *house) unfinished() (n int, err error) {
	err = h.inspect(func(s *core.State) { n = len(s.Open()) })
	return n, err
}

// look notes where each open step stands now.
func (h *house) look(string) error {
	return h.inspect(func(s *core.State) {
		for _, id := range s.Open() {
			h.name(string(id))
			for _, st := range s.Workflows[id].Steps {
				h.note("looked", "w%d.%s %s %s", slices.Index(h.named, id)+1, st.ID, st.State, st.Reason)
			}
		}
	})
}

func (h *house) inspect(f func(*core.State)) error {
	if h.device.agent == nil {
		return errors.New("the agent does not run")
	}
	return h.device.agent.Manager().Inspect(context.Background(), func(s *core.State, _ core.Now) { f(s) })
}

// moving says whether wheels or fan are on.
func moving(log []home.Entry) bool {
	on := map[home.Kind]int{}
	for _, e := range log {
		on[e.Kind]++
	}
	return on[home.KindMotionStart] > on[home.KindMotionEnd] || on[home.KindCleaningStart] > on[home.KindCleaningEnd]
}

// tempDir is where one scenario keeps its stores.
func tempDir() (string, func(), error) {
	dir, err := os.MkdirTemp("", "scenario-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
