package firmware

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/taskmanager/core"
)

// mayRestart asks, and gives the codes of what is against it.
func (g *guest) mayRestart() (may bool, codes []string, text string, retryMS uint64) {
	g.t.Helper()
	var reasons []reason
	if fail := g.asks("MayRestart", nil, &may, &reasons, &retryMS); fail != "" {
		g.t.Fatal(fail)
	}
	for _, r := range reasons {
		codes = append(codes, r.Code)
	}
	if may != (len(codes) == 0) || may != (retryMS == 0) {
		g.t.Errorf("may %v, reasons %v, again in %d ms", may, reasons, retryMS)
	}
	return may, codes, fmt.Sprint(reasons), retryMS
}

// settled waits until the time to settle is over and nothing is against a restart.
func (g *guest) settled() {
	g.t.Helper()
	eventually(g.t, "a restart being allowed", func() bool { may, _, _, _ := g.mayRestart(); return may })
}

// watching waits until a change of RestartAllowed is signalled: the time to settle ends a little earlier than that is told.
func (g *guest) watching() {
	g.t.Helper()
	g.settled()
	eventually(g.t, "the signal of RestartAllowed", func() bool {
		lease, fail := g.busy("to be seen", 60)
		if fail != "" {
			g.t.Fatal(fail)
		}
		time.Sleep(2 * calm)
		g.asks("Done", args(lease))
		return slices.ContainsFunc(g.heard(), func(s string) bool { return strings.Contains(s, "RestartAllowed:false] ") })
	})
	eventually(g.t, "the signal of its end", func() bool {
		all := slices.DeleteFunc(g.heard(), func(s string) bool { return !strings.Contains(s, "RestartAllowed:") })
		return strings.Contains(all[len(all)-1], "RestartAllowed:true")
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got = nil
}

func (g *guest) busy(why string, seconds uint32) (lease, fail string) {
	g.t.Helper()
	fail = g.asks("Busy", args(why, seconds), &lease)
	return lease, fail
}

// A lock left by a dead owner kept a robot from its update for ever. Here "busy" has an owner, a reason and an end, and dies with its owner.
func TestH1_BusyEndsWithItsOwner(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	updater, flasher := r.join(), enter(t, r.d)
	updater.listen()
	updater.watching()
	lease, fail := flasher.busy("writes the motor controller", 3600)
	if fail != "" || lease == "" {
		t.Fatalf("%q %q", lease, fail)
	}
	may, codes, text, retry := updater.mayRestart()
	if may || !slices.Equal(codes, []string{"busy"}) || !strings.Contains(text, "writes the motor controller") || !strings.Contains(text, flasher.conn.Names()[0]) || !strings.Contains(text, "1h0m0s") {
		t.Fatalf("may %v, %s", may, text)
	}
	if retry < minRetryMS || retry > maxRetryMS {
		t.Errorf("again in %d ms", retry)
	}
	updater.hears("PropertiesChanged[" + Interface + " map[RestartAllowed:false]")
	if fail := updater.asks("Done", args(lease)); fail != errorNoLease {
		t.Errorf("somebody else ends the lease: %q", fail)
	}
	flasher.conn.Close() // as a crash does
	updater.settled()
	updater.hears("PropertiesChanged[" + Interface + " map[RestartAllowed:true]")
	eventually(t, "the line of the log", func() bool { return strings.Contains(r.log.String(), "lease ended with its owner") })
}

func TestALeaseEndsWithItsTimeAndByItsOwner(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	g.listen()
	g.watching()
	if _, fail := g.busy("short", 1); fail != "" {
		t.Fatal(fail)
	}
	g.hears("PropertiesChanged[" + Interface + " map[RestartAllowed:false]")
	g.settled() // by time alone
	a, _ := g.busy("a", 100)
	again, _ := g.busy("a", 200)
	b, _ := g.busy("b", 300)
	if a == "" || a != again || a == b {
		t.Errorf("leases %q, %q, %q: the same reason lengthens, another one is another lease", a, again, b)
	}
	if _, _, text, _ := g.mayRestart(); !strings.Contains(text, "3m20s") || !strings.Contains(text, "5m0s") {
		t.Errorf("both stand: %s", text)
	}
	for _, id := range []string{a, b} {
		if fail := g.asks("Done", args(id)); fail != "" {
			t.Errorf("%s: %s", id, fail)
		}
		if fail := g.asks("Done", args(id)); fail != errorNoLease {
			t.Errorf("%s, ended twice: %s", id, fail)
		}
	}
	g.settled()
}

func TestLeasesAreBounded(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	for _, bad := range []struct {
		why     string
		seconds uint32
	}{{"", 1}, {strings.Repeat("x", maxText+1), 1}, {"x", 0}, {"x", 3601}, {"x", 1 << 31}} {
		if _, fail := g.busy(bad.why, bad.seconds); fail != busError+"InvalidArgs" {
			t.Errorf("%.10q for %d s: %q", bad.why, bad.seconds, fail)
		}
	}
	for i := range perOwner {
		if _, fail := g.busy(fmt.Sprint(i), 60); fail != "" {
			t.Fatal(fail)
		}
	}
	if _, fail := g.busy("one more", 60); fail != busError+"LimitsExceeded" {
		t.Errorf("one more than an owner may have: %q", fail)
	}
	l := newLeases()
	for i := range maxLeases {
		if _, err := l.take(caller{name: fmt.Sprint(i)}, "x", time.Minute, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.take(caller{name: "one more"}, "x", time.Minute, time.Now()); err == nil {
		t.Error("one more than all may have")
	}
}

// What the robot does is named, and nothing else keeps it from being restarted: a plan survives that.
func TestMayRestartSaysWhatARestartWouldCutOff(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	g.settled()
	at := func(want string) {
		t.Helper()
		may, codes, text, _ := g.mayRestart()
		if want == "" && !may || want != "" && !slices.Equal(codes, []string{want}) {
			t.Errorf("want %q, got %s", want, text)
		}
	}
	var ok bool
	var id, code string
	var faults []fault
	if fail := g.asks("Submit", args(movePlan), &ok, &id, &code, &faults); fail != "" || !ok {
		t.Fatal(fail, code, faults)
	}
	at("outcome_unknown") // the call is out, not answered
	r.home.does(func() { r.home.Do(core.TaskAnswered{Task: r.home.Last(), Accepted: true, Instance: "run-1"}) })
	at("moving")
	first := r.home.Last()
	r.home.does(func() { r.home.Do(core.TaskEnded{Task: first, Outcome: core.OutcomeDone}) })
	at("verifying")
	r.home.does(func() {
		r.home.Event("movement.arrived", first, core.Values{"room_id": "living_room"})
		r.home.Settle("movement.location", "living_room")
	})
	r.home.does(func() { r.home.Do(core.TaskAnswered{Task: r.home.Last(), Accepted: true, Instance: "run-1"}) })
	at("running") // the cleaner
	r.home.does(func() { r.home.Do(core.ExecutorDown{Service: "home", Reason: "name_lost"}) })
	at("outcome_unknown")
	var stopping []string
	if fail := g.asks("Cancel", args("workflow", "wf_1", "test"), &ok, &id, &code, &stopping); fail != "" || !ok {
		t.Fatal(fail, code)
	}
	at("stopping")
	if _, _, text, _ := g.mayRestart(); !strings.Contains(text, "wf_1/step_2") || !strings.Contains(text, "startBasicAirClear") {
		t.Errorf("the task is not named: %s", text)
	}
}

// A plan that waits for its moment does not keep a robot from being restarted.
func TestAWaitingPlanDoesNotHinderARestart(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	g.holds("Hold", "operator", "test")
	var ok bool
	var id, code string
	var faults []fault
	if fail := g.asks("Submit", args(movePlan), &ok, &id, &code, &faults); fail != "" || !ok {
		t.Fatal(fail, code, faults)
	}
	g.settled()
	if n := g.property("OpenWorkflows"); n != uint32(1) {
		t.Errorf("%v workflows are open", n)
	}
}

// Who had a lease when the agent went may have to take it anew: until then nobody is told yes.
func TestNoRestartBeforeLeasesCanBeTakenAnew(t *testing.T) {
	r := serve(t, startDaemon(t, lax), func(o *Options) { o.Settle = time.Hour })
	g := r.join()
	if may, codes, text, _ := g.mayRestart(); may || !slices.Equal(codes, []string{"settling"}) {
		t.Errorf("just after the start: %s", text)
	}
	if g.property("RestartAllowed") != false {
		t.Error("the property says otherwise")
	}
	r.home.does(func() { r.home.mu.Lock(); r.home.ready = false; r.home.mu.Unlock() })
	if _, codes, text, _ := g.mayRestart(); !slices.Contains(codes, "starting") {
		t.Errorf("while the agent starts: %s", text)
	}
}

// An owner that went before its lease was written down has none: nobody would end it.
func TestOneWhoHasGoneGetsNoLease(t *testing.T) {
	d := startDaemon(t, lax)
	g := enter(t, d)
	s := &session{Service: New(Options{Log: zerolog.Nop()}), conn: g.conn}
	if id, fail := s.lend(caller{name: ":1.999"}, "x", time.Minute); fail == nil {
		t.Errorf("%s was given", id)
	}
	if got, _ := s.leases.standing(time.Now()); len(got) != 0 {
		t.Errorf("%v stand", got)
	}
	if id, fail := s.lend(caller{name: g.conn.Names()[0]}, "x", time.Minute); fail != nil || id == "" {
		t.Errorf("one who is there: %v", fail)
	}
}

// An announcement that the core refuses leaves leases as they were.
func TestLeasesAreShutAndOpenedAgain(t *testing.T) {
	l, now := newLeases(), time.Now()
	take := func(owner string) error {
		_, err := l.take(caller{name: owner}, "x", time.Minute, now)
		return err
	}
	if err := take(":1.1"); err != nil {
		t.Fatal(err)
	}
	if l.shut(":1.2", now.Add(time.Minute), now) || take(":1.3") != nil {
		t.Error("shut over another one's lease")
	}
	l.gone(":1.3")
	if !l.shut(":1.1", now.Add(time.Minute), now) || take(":1.3") == nil {
		t.Error("not shut")
	}
	l.reopen()
	if err := take(":1.3"); err != nil {
		t.Error(err)
	}
}

// prepare announces a restart and gives the codes of what is against it.
func (g *guest) prepare(seconds uint32) (announced bool, codes []string) {
	g.t.Helper()
	var reasons []reason
	var retry uint64
	if fail := g.asks("PrepareRestart", args("update", seconds), &announced, &reasons, &retry); fail != "" {
		g.t.Fatal(fail)
	}
	for _, r := range reasons {
		codes = append(codes, r.Code)
	}
	if announced != (len(codes) == 0) || announced != (retry == 0) {
		g.t.Errorf("announced %v, reasons %v, again in %d ms", announced, reasons, retry)
	}
	return announced, codes
}

// Between the announcement and the restart nothing begins, neither a step nor a lease; called off, all goes on.
func TestNothingBeginsAfterARestartWasAnnounced(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	updater, other := r.join(), enter(t, r.d)
	updater.listen()
	updater.settled()
	lease, fail := other.busy("flash", 60)
	if fail != "" {
		t.Fatal(fail)
	}
	if ok, codes := updater.prepare(60); ok || !slices.Equal(codes, []string{"busy"}) {
		t.Fatalf("over another one's lease: %v %v", ok, codes)
	}
	other.asks("Done", args(lease))
	if _, fail := updater.busy("downloads", 60); fail != "" {
		t.Fatal(fail)
	}
	if ok, codes := updater.prepare(60); !ok {
		t.Fatalf("over a lease of its own: %v", codes)
	}
	updater.hears("Held[policy:all:restart bus uid ")
	if _, fail := other.busy("flash", 60); fail != errorRestart {
		t.Errorf("a lease: %q", fail)
	}
	r.home.does(func() { r.home.Submit(movePlan) })
	if task := r.home.Last(); task != "" {
		t.Fatalf("%s was dispatched", task)
	}
	if fail := other.asks("CallOffRestart", nil); fail != "" {
		t.Fatal(fail)
	}
	updater.hears("Released[policy:all:restart]")
	if _, fail := other.busy("flash", 1); fail != "" {
		t.Errorf("a lease after it was called off: %q", fail)
	}
	r.home.does(func() { r.home.Read("movement.is_moving", false); r.home.Read("movement.location", "study") })
	eventually(t, "the first task", func() bool { return r.home.Last() != "" })
	eventually(t, "the answer to an announcement over a task", func() bool {
		ok, codes := updater.prepare(60)
		if ok {
			t.Fatal("announced over a task")
		}
		return slices.Contains(codes, "outcome_unknown")
	})
}

func TestAnAnnouncementIsBounded(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	g.settled()
	for _, in := range [][]any{{"", uint32(1)}, {strings.Repeat("x", maxText+1), uint32(1)}, {"x", uint32(0)}, {"x", uint32(601)}} {
		if fail := g.asks("PrepareRestart", in); fail != busError+"InvalidArgs" {
			t.Errorf("%.20q: %q", in, fail)
		}
	}
	if ok, codes := g.prepare(1); !ok {
		t.Fatal(codes)
	}
	r.home.does(func() { r.home.Pass(2_000) })
	eventually(t, "leases after the time of the announcement", func() bool { _, fail := g.busy("flash", 1); return fail == "" })
	if ids := g.property("Holders"); len(ids.([]string)) != 0 {
		t.Errorf("%v still stand", ids)
	}
}

// What the cloud does goes on without the robot.
func TestAStepOfTheCloudDoesNotHinderARestart(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	r.home.does(func() {
		r.home.Submit(`{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0},"device_task_requests":[{"cloud_step_id":"a","execution_target":"cloud","skill":"fresh_information_brief"}]}`)
	})
	if n := g.property("OpenWorkflows"); n != uint32(1) {
		t.Fatalf("%v workflows are open", n)
	}
	g.settled()
}

// What begins between the look and the announcement is the core's to see: then nothing is announced, and leases are given as before.
func TestWhatBeginsJustBeforeTheAnnouncement(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	g.settled()
	r.home.mu.Lock()
	r.home.before = func(core.Event) { r.home.Submit(movePlan) }
	r.home.mu.Unlock()
	if ok, codes := g.prepare(60); ok || !slices.Equal(codes, []string{"outcome_unknown"}) {
		t.Errorf("%v %v", ok, codes)
	}
	if _, fail := g.busy("flash", 1); fail != "" {
		t.Errorf("a lease: %q", fail)
	}
}
