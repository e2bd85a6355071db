package dbus_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

const moveMap = "operations setMoveTo executor dbus map "

// single makes the motion of the example one that is known by being the only one: it ends when the state is 0 again.
func single(more ...member) []member {
	return append([]member{
		{moveMap + "task", object{"by": "single"}},
		{moveMap + "progress", nil},
		{moveMap + "result", []any{object{"property": "State", "match": object{"value": 0}, "outcome": "done"}, object{"property": "State", "match": object{"value": 9}, "outcome": "failed"}}},
		{moveMap + "cancel", object{"method": "Stop", "confirmed": object{"property": "State", "match": object{"value": 5}}}},
		{moveMap + "pause", object{"method": "Stop", "confirmed": object{"reply": true}}},
		{moveMap + "resume", object{"method": "Stop", "confirmed": object{"property": "State", "match": object{"value": 1}}}},
		{moveMap + "query", object{"property": "State", "states": object{"1": "running", "0": "unknown"}}},
		{"services chassis events", []any{object{"event": "movement.stopped", "property": "State", "match": object{"value": 5}, "task": "current"}}},
	}, more...)
}

// byID makes it one that is known by our id.
func byID(more ...member) []member {
	id := object{"type": "s", "task": true}
	return append([]member{
		{moveMap + "task", object{"by": "id"}},
		{moveMap + "call args", []any{id, object{"type": "d", "value": 0.5}}},
		{moveMap + "cancel args", []any{id}},
		{moveMap + "pause args", []any{id, object{"type": "b", "value": true}}},
		{moveMap + "resume args", []any{id, object{"type": "b", "value": false}}},
		{moveMap + "query args", []any{id}},
		{"operations setMoveTo probe", "durable"},
	}, more...)
}

func query(task string) core.Query {
	return core.Query{Task: core.TaskID(task), Service: "chassis", Method: "setMoveTo"}
}

func stop(task string) core.Stop {
	return core.Stop{Task: core.TaskID(task), Service: "chassis", Method: "setMoveTo"}
}

// TestAMappedTaskThatEndsBeforeItsReply: the words come before the handle is known, are kept, and count after the answer.
func TestAMappedTaskThatEndsBeforeItsReply(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 0)
	v := newChassis(t, d)
	v.start(map[string]any{chassisIface + ".GoTo": func(string, float64) (uint32, *godbus.Error) {
		v.emit(chassisPath, chassisIface+".JobProgress", uint32(41), 0.5)
		v.emit(chassisPath, chassisIface+".JobDone", uint32(40), int32(3), place{"study", 1}) // somebody else's
		v.emit(chassisPath, chassisIface+".JobDone", uint32(41), int32(0), place{"kitchen", 1})
		v.note("emitted")
		time.Sleep(300 * time.Millisecond) // all of it is heard before the reply
		return 41, nil
	}})
	up(r, 1)
	r.reg.Carry(goTo("t-1"))
	if e := heard[core.TaskEnded](r, 1, nil); e.Task != "t-1" || e.Outcome != core.OutcomeDone {
		t.Errorf("end %+v", e)
	}
	var order []string
	for _, ev := range r.events() {
		switch ev := ev.(type) {
		case core.TaskAnswered:
			order = append(order, "answered")
		case core.TaskProgress:
			order = append(order, "progress")
		case core.Observed:
			order = append(order, string(ev.Event)+":"+string(ev.Task))
		case core.TaskEnded:
			order = append(order, "ended")
		}
	}
	if got := strings.Join(order, " "); got != "answered progress movement.failed: movement.arrived:t-1 ended" {
		t.Errorf("order: %s", got)
	}
	r.reg.Carry(query("t-1"))
	if st := heard[core.TaskStatus](r, 1, nil); st.Known != core.KnownEnded || st.Ended == nil || st.Event == nil || v.did() == "" || strings.Contains(v.did(), "job:") {
		t.Errorf("status %+v", st)
	}
}

// TestAMappedTaskKnownByOurID lives through a restart of the agent: the service is asked by our id, and says how it stands.
func TestAMappedTaskKnownByOurID(t *testing.T) {
	d := startDaemon(t)
	c := changed(t, byID()...)
	var failed atomic.Bool
	v := newChassis(t, d)
	v.start(map[string]any{
		chassisIface + ".GoTo": func(task string, _ float64) *godbus.Error {
			v.note("goto:%s", task)
			v.emit(chassisPath, chassisIface+".JobProgress", task, 0.5)
			return nil
		},
		chassisIface + ".Job": func(task string) (jobState, *godbus.Error) {
			v.note("job:%s", task)
			if task == "t-9" {
				return jobState{}, godbus.NewError("com.acme.Error.NoSuchJob", nil)
			}
			if failed.Load() {
				return jobState{"ERR", ""}, nil
			}
			return jobState{"RUN", ""}, nil
		},
		chassisIface + ".Abort": func(task string) (bool, *godbus.Error) {
			v.note("abort:%s", task)
			return true, nil
		},
	})
	first := newMapRig(t, d, c, 0)
	up(first, 1)
	first.reg.Carry(goTo("t-1"))
	if p := heard[core.TaskProgress](first, 1, nil); p.Task != "t-1" || p.Percent != 50 {
		t.Errorf("progress %+v", p)
	}
	second := newMapRig(t, d, c, 0) // the agent anew: it has heard of nothing
	up(second, 1)
	second.reg.Carry(query("t-1"))
	if st := heard[core.TaskStatus](second, 1, nil); st.Known != core.KnownRunning {
		t.Errorf("status %+v", st)
	}
	second.reg.Carry(stop("t-1"))
	if a := heard[core.StopAnswered](second, 1, nil); !a.Accepted || !strings.Contains(v.did(), "abort:t-1") {
		t.Errorf("stop %+v, the vendor did %s", a, v.did())
	}
	v.emit(chassisPath, chassisIface+".JobDone", "t-1", int32(1), place{})
	if e := heard[core.TaskEnded](second, 1, nil); e.Task != "t-1" || e.Outcome != core.OutcomeCancelled {
		t.Errorf("end %+v", e)
	}
	second.reg.Carry(query("t-9"))
	if st := heard[core.TaskStatus](second, 1, func(s core.TaskStatus) bool { return s.Task == "t-9" }); st.Known != core.KnownNot || !st.Sealed {
		t.Errorf("status of what it never got %+v", st)
	}
	second.reg.Carry(goTo("t-9"))
	if a := heard[core.TaskAnswered](second, 1, nil); a.Accepted || a.NotSent || a.Unknown || strings.Contains(v.did(), "goto:t-9") {
		t.Errorf("a sealed id was dispatched: %+v", a)
	}
	failed.Store(true)
	second.reg.Carry(query("t-3"))
	if st := heard[core.TaskStatus](second, 1, func(s core.TaskStatus) bool { return s.Task == "t-3" }); st.Known != core.KnownEnded || st.Ended.Outcome != core.OutcomeFailed {
		t.Errorf("status of what has failed %+v", st)
	}
}

// TestAMappedTaskKnownByBeingTheOnlyOne: a property ends it, once it had another value; a second one waits.
func TestAMappedTaskKnownByBeingTheOnlyOne(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t, single()...), 0)
	v := startChassis(t, d, map[string]any{chassisIface + ".GoTo": func(string, float64) *godbus.Error { return nil }})
	up(r, 1)
	r.reg.Carry(goTo("t-1"))
	heard[core.TaskAnswered](r, 1, nil)
	v.change(chassisIface, "State", int32(0)) // as it was: it has not begun
	v.change(chassisIface, "State", int32(1))
	r.reg.Carry(query("t-1"))
	if st := heard[core.TaskStatus](r, 1, nil); st.Known != core.KnownRunning {
		t.Errorf("status %+v", st)
	}
	r.reg.Carry(goTo("t-2"))
	if a := heard[core.TaskAnswered](r, 1, func(a core.TaskAnswered) bool { return a.Task == "t-2" }); !a.NotSent || a.Reason != core.ReasonExecutorBusy {
		t.Errorf("a second one while it runs: %+v", a)
	}
	for _, ev := range r.events() {
		if e, ok := ev.(core.TaskEnded); ok {
			t.Fatalf("ended by an old value: %+v", e)
		}
	}
	v.invalidate(chassisIface, "State", int32(0)) // the value is not told, it has to be read
	if e := heard[core.TaskEnded](r, 1, nil); e.Task != "t-1" || e.Outcome != core.OutcomeDone {
		t.Errorf("end %+v", e)
	}
	r.reg.Carry(goTo("t-3"))
	if a := heard[core.TaskAnswered](r, 1, func(a core.TaskAnswered) bool { return a.Task == "t-3" }); !a.Accepted {
		t.Errorf("the next one: %+v", a)
	}
	v.change(chassisIface, "State", int32(1))
	r.reg.Carry(core.Pause{Task: "t-3", Service: "chassis"})
	if st := heard[core.TaskStatus](r, 1, func(s core.TaskStatus) bool { return s.Paused }); st.Task != "t-3" {
		t.Errorf("paused by the reply: %+v", st)
	}
	v.change(chassisIface, "State", int32(1))
	heard[core.TaskStatus](r, 1, func(s core.TaskStatus) bool { return s.Resumed && s.Task == "t-3" })
	r.reg.Carry(stop("t-3"))
	heard[core.StopAnswered](r, 1, func(a core.StopAnswered) bool { return a.To == "" && a.Accepted })
	v.change(chassisIface, "State", int32(5))
	if e := heard[core.TaskEnded](r, 2, nil); e.Task != "t-3" || e.Outcome != core.OutcomeCancelled {
		t.Errorf("end of what was cancelled %+v", e)
	}
	if o := heard[core.Observed](r, 1, nil); o.Event != "movement.stopped" || o.Task != "t-3" {
		t.Errorf("event of the current task %+v", o)
	}
}

// TestTheNextOnlyOne: of one whose end nobody heard the service is asked before the next takes its place.
func TestTheNextOnlyOne(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t, single()...), 0)
	v := startChassis(t, d, map[string]any{chassisIface + ".GoTo": func(string, float64) *godbus.Error { return nil }})
	up(r, 1)
	r.reg.Carry(goTo("t-1"))
	heard[core.TaskAnswered](r, 1, nil)
	v.set(chassisIface, "State", int32(1)) // it runs, and ends; nobody is told
	r.reg.Carry(goTo("t-2"))
	if a := heard[core.TaskAnswered](r, 2, nil); !a.NotSent {
		t.Errorf("while it runs: %+v", a)
	}
	v.set(chassisIface, "State", int32(0))
	r.reg.Carry(goTo("t-3"))
	if a := heard[core.TaskAnswered](r, 3, nil); !a.Accepted {
		t.Errorf("after it has ended: %+v", a)
	}
	v.set(chassisIface, "State", int32(1)) // the third runs
	r.reg.Carry(query("t-1"))
	if st := heard[core.TaskStatus](r, 1, nil); st.Known != core.KnownNot || st.Sealed {
		t.Errorf("the one whose end nobody heard: %+v", st)
	}
}

// TestAcceptedByASignal: the return says nothing, a signal accepts or refuses.
func TestAcceptedByASignal(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t, member{moveMap + "accept", object{"signal": "JobTaken", "task": "0", "match": object{"1": true},
		"refused": object{"signal": "JobTaken", "task": "0", "match": object{"1": false}, "reason": object{"value": "path_blocked"}}}}), 0)
	v := startChassis(t, d, nil)
	up(r, 1)
	r.reg.Carry(goTo("t-1"))
	v.waitFor("goto")
	v.emit(chassisPath, chassisIface+".JobTaken", uint32(7), true)
	if a := heard[core.TaskAnswered](r, 1, nil); !a.Accepted {
		t.Errorf("accepted: %+v", a)
	}
	v.emit(chassisPath, chassisIface+".JobDone", uint32(7), int32(0), place{})
	heard[core.TaskEnded](r, 1, nil)
	r.reg.Carry(goTo("t-2"))
	v.waitFor("goto:kitchen:0.5 goto")
	v.emit(chassisPath, chassisIface+".JobTaken", uint32(7), false)
	if a := heard[core.TaskAnswered](r, 2, nil); a.Accepted || a.Unknown || a.NotSent || a.Reason != "path_blocked" {
		t.Errorf("refused: %+v", a)
	}
}

// TestAPathThatIsTheHandle: each task is an object of its own, which tells its end itself.
func TestAPathThatIsTheHandle(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t,
		member{moveMap + "result", []any{object{"signal": "Finished", "interface": "com.acme.Job1", "task": "path", "outcome": "done", "match": object{"0": "fine"}}}},
		member{moveMap + "cancel args", []any{object{"type": "o", "handle": true}}},
		member{"services chassis events", []any{object{"event": "movement.started", "signal": "Begun", "interface": "com.acme.Job1", "path": "/com/acme/board"}}},
		member{moveMap + "query", nil}), 0)
	v := newChassis(t, d)
	v.start(map[string]any{
		chassisIface + ".GoTo": func(string, float64) (godbus.ObjectPath, *godbus.Error) { return "/com/acme/jobs/3", nil },
		chassisIface + ".Abort": func(job godbus.ObjectPath) (bool, *godbus.Error) {
			v.note("abort:%s", job)
			return true, nil
		}})
	up(r, 1)
	r.reg.Carry(goTo("t-1"))
	heard[core.TaskAnswered](r, 1, func(a core.TaskAnswered) bool { return a.Accepted })
	r.reg.Carry(stop("t-1"))
	v.waitFor("abort:/com/acme/jobs/3")
	v.emit("/com/acme/jobs/4", "com.acme.Job1.Finished", "fine")
	v.emit("/com/acme/jobs/4", "com.acme.Job1.Begun")
	v.emit("/com/acme/jobs/3", "com.acme.Job1.Finished", "fine")
	if e := heard[core.TaskEnded](r, 1, nil); e.Task != "t-1" {
		t.Errorf("end %+v", e)
	}
	r.reg.Carry(query("t-1"))
	if st := heard[core.TaskStatus](r, 1, nil); st.Known != core.KnownEnded {
		t.Errorf("status %+v", st)
	}
	for _, ev := range r.events() {
		if o, ok := ev.(core.Observed); ok {
			t.Errorf("said by another object: %+v", o)
		}
	}
}

// TestWhatTheReplySays: it accepts, refuses with a reason, and is the end; arguments that a plan leaves out are left out.
func TestWhatTheReplySays(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 0)
	got := make(chan map[string]godbus.Variant, 8)
	code := make(chan int32, 8)
	v := &vendor{t: t, conn: connect(t, d), name: "com.acme.Lamp", path: "/com/acme/Lamp", props: map[string]any{lampIface + ".Level": byte(40)}}
	v.export(v.path, map[string]any{lampIface + ".Set": func(to map[string]godbus.Variant) (int32, *godbus.Error) {
		got <- to
		return <-code, nil
	}})
	v.take()
	if u := up(r, 1); u.Service != "lamp" || len(u.Methods) != 1 {
		t.Fatalf("up %+v", u)
	}
	screen := func(task string, params core.Values) core.Dispatch {
		return core.Dispatch{Task: core.TaskID(task), Service: "lamp", Method: "setScreen", Params: params}
	}
	code <- 0
	r.reg.Carry(screen("t-1", core.Values{"on": true, "brightness": 30.0}))
	if e := heard[core.TaskEnded](r, 1, nil); e.Task != "t-1" || e.Outcome != core.OutcomeDone {
		t.Errorf("end %+v", e)
	}
	if m := <-got; len(m) != 3 || m["power"].Value() != true || m["level"].Value() != byte(30) || m["source"].Value() != "agent" {
		t.Errorf("arguments %v", m)
	}
	code <- 1
	r.reg.Carry(screen("t-2", core.Values{"brightness": 30.0}))
	if m := <-got; len(m) != 2 {
		t.Errorf("arguments %v", m)
	}
	if a := heard[core.TaskAnswered](r, 2, nil); a.Accepted || a.Reason != core.ReasonExecutorBusy || a.NotSent || a.Unknown {
		t.Errorf("refused: %+v", a)
	}
	if got := known(r)["display.brightness"]; got.Value != 40.0 {
		t.Errorf("brightness %+v", got)
	}
	r.reg.Carry(screen("t-3", core.Values{"brightness": 3000.0}))
	if a := heard[core.TaskAnswered](r, 3, nil); a.Accepted || a.NotSent || a.Unknown || a.Reason != core.ReasonExecutorRefused {
		t.Errorf("a call that cannot be made: %+v", a)
	}
	if u := heard[core.ExecutorUp](r, 1, nil); len(u.Keys) != 1 || u.Keys[0] != catalog.ContextKey("display.brightness") {
		t.Errorf("keys %v", u.Keys)
	}
}

// TestAMappedTaskOfOurIDThatEndsBeforeItsReply: its end is known by our id at once, and still counts after the answer only.
func TestAMappedTaskOfOurIDThatEndsBeforeItsReply(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t, byID()...), 0)
	v := newChassis(t, d)
	release := make(chan struct{})
	v.start(map[string]any{
		chassisIface + ".GoTo": func(task string, _ float64) *godbus.Error {
			v.emit(chassisPath, chassisIface+".JobDone", task, int32(0), place{"kitchen", 1})
			v.note("emitted")
			<-release
			return nil
		},
		chassisIface + ".Job": func(string) (jobState, *godbus.Error) {
			return jobState{}, godbus.NewError("com.acme.Error.NoSuchJob", nil)
		}})
	up(r, 1)
	r.reg.Carry(goTo("t-1"))
	heard[core.Observed](r, 1, func(o core.Observed) bool { return o.Task == "t-1" })
	r.reg.Carry(query("t-1"))
	if st := heard[core.TaskStatus](r, 1, nil); st.Known != core.KnownNoAnswer || st.Sealed {
		t.Errorf("status while the call is open %+v", st)
	}
	close(release)
	heard[core.TaskEnded](r, 1, nil)
	kinds := []string{}
	for _, ev := range r.events() {
		switch ev.(type) {
		case core.TaskAnswered, core.TaskEnded:
			kinds = append(kinds, string(core.KindOf(ev)))
		}
	}
	if strings.Join(kinds, " ") != "task_answered task_ended" {
		t.Errorf("order %v", kinds)
	}
}

// TestASteerThatIsRefused: the service knows no such method, or says by an error of its own that it will not.
func TestASteerThatIsRefused(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 0)
	startChassis(t, d, map[string]any{
		chassisIface + ".Abort": func(uint32) *godbus.Error { return godbus.NewError("com.acme.Error.Busy", nil) },
		chassisIface + ".Hold":  func(string) *godbus.Error { return nil }, // another signature: InvalidArgs
	})
	up(r, 1)
	r.reg.Carry(goTo("t-1"))
	heard[core.TaskAnswered](r, 1, nil)
	r.reg.Carry(stop("t-1"))
	if a := heard[core.StopAnswered](r, 1, nil); !a.Refused || a.Accepted || a.Reason != "executor_busy" {
		t.Errorf("stop %+v", a)
	}
	r.reg.Carry(core.Pause{Task: "t-1", Service: "chassis"})
	if a := heard[core.StopAnswered](r, 2, nil); !a.Refused || a.To != core.ToPause {
		t.Errorf("pause %+v", a)
	}
	r.reg.Carry(core.Pause{Task: "t-7", Service: "chassis"})
	if a := heard[core.StopAnswered](r, 3, nil); a.Refused || a.Accepted {
		t.Errorf("pause of a task that nobody knows %+v", a)
	}
}

// TestTwoOperationsInOneSlot: what ends one of them says nothing of the other.
func TestTwoOperationsInOneSlot(t *testing.T) {
	d := startDaemon(t)
	home := object{"probe": "none", "cancel": false, "pause": false, "executor": object{"kind": "dbus", "name": "chassis", "dbus": object{"map": object{
		"call": object{"method": "GoHome"}, "task": object{"by": "single"}, "result": []any{object{"property": "State", "match": object{"value": 7}, "outcome": "done"}}}}}}
	r := newMapRig(t, d, changed(t, single(member{"operations returnToStation", home})...), 0)
	v := startChassis(t, d, map[string]any{
		chassisIface + ".GoTo":   func(string, float64) *godbus.Error { return nil },
		chassisIface + ".GoHome": func() *godbus.Error { return nil }})
	up(r, 1)
	r.reg.Carry(goTo("t-1"))
	heard[core.TaskAnswered](r, 1, nil)
	v.change(chassisIface, "State", int32(1))
	r.reg.Carry(core.Dispatch{Task: "t-2", Service: "chassis", Method: "returnToStation"})
	if a := heard[core.TaskAnswered](r, 2, nil); !a.NotSent || a.Reason != core.ReasonExecutorBusy {
		t.Errorf("while another has the slot: %+v", a)
	}
	v.change(chassisIface, "State", int32(7)) // the end of a way home, and nobody goes home
	v.change(chassisIface, "State", int32(5)) // the end of a cancel, and nobody has cancelled
	v.change(chassisIface, "State", int32(9))
	if e := heard[core.TaskEnded](r, 1, nil); e.Task != "t-1" || e.Outcome != core.OutcomeFailed || e.Reason != core.ReasonExecutorFailed {
		t.Errorf("end %+v", e)
	}
}

// TestAnEndThatMayHaveBeenMissed: after a gap a task that cannot be asked for is unknown, and never taken for not run.
func TestAnEndThatMayHaveBeenMissed(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t, member{moveMap + "query", nil}), 0)
	v := startChassis(t, d, nil)
	up(r, 1)
	r.reg.Carry(goTo("t-1"))
	heard[core.TaskAnswered](r, 1, nil)
	r.reg.Carry(query("t-1"))
	if st := heard[core.TaskStatus](r, 1, nil); st.Known != core.KnownRunning {
		t.Errorf("status before %+v", st)
	}
	flood(r, v)
	up(r, 2)
	r.reg.Carry(query("t-1"))
	if st := heard[core.TaskStatus](r, 2, nil); st.Known != core.KnownNot || st.Sealed {
		t.Errorf("status after %+v", st)
	}
}

// TestAHandleThatTheServiceHasForgotten: it may have run to its end, so it is not taken for not run.
func TestAHandleThatTheServiceHasForgotten(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 0)
	startChassis(t, d, map[string]any{chassisIface + ".Job": func(uint32) (jobState, *godbus.Error) {
		return jobState{}, godbus.NewError("com.acme.Error.NoSuchJob", nil)
	}})
	up(r, 1)
	r.reg.Carry(goTo("t-1"))
	heard[core.TaskAnswered](r, 1, nil)
	r.reg.Carry(query("t-1"))
	if st := heard[core.TaskStatus](r, 1, nil); st.Known != core.KnownNot || st.Sealed {
		t.Errorf("status %+v", st)
	}
}

// TestAStopStaysBehindItsCall: it needs nothing of the answer and waits for none, but it never reaches the service first.
func TestAStopStaysBehindItsCall(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t, byID()...), 0)
	v := newChassis(t, d)
	arrived := make(chan *godbus.Message, 64) // in the order in which the bus brings it
	v.conn.Eavesdrop(arrived)
	if err := v.conn.BusObject().Call("org.freedesktop.DBus.RequestName", godbus.FlagNoReplyExpected, v.name, uint32(4)).Err; err != nil {
		t.Fatal(err)
	}
	order := make(chan string, 64)
	go func() {
		for m := range arrived {
			member, _ := m.Headers[godbus.FieldMember].Value().(string)
			switch {
			case m.Type != godbus.TypeMethodCall:
			case member == "GoTo" || member == "Abort": // it hangs over both
				order <- member + ":" + m.Body[0].(string)
			default:
				v.conn.Send(&godbus.Message{Type: godbus.TypeError, Headers: map[godbus.HeaderField]godbus.Variant{
					godbus.FieldDestination: m.Headers[godbus.FieldSender], godbus.FieldReplySerial: godbus.MakeVariant(m.Serial()),
					godbus.FieldErrorName: godbus.MakeVariant("org.freedesktop.DBus.Error.UnknownMethod")}}, nil)
			}
		}
	}()
	up(r, 1)
	for i := range 8 {
		task := fmt.Sprintf("t-%d", i)
		r.reg.Carry(goTo(task))
		r.reg.Carry(stop(task))
		for _, want := range []string{"GoTo:" + task, "Abort:" + task} {
			select {
			case got := <-order:
				if got != want {
					t.Fatalf("%s came, and not %s", got, want)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s did not come", want)
			}
		}
	}
	v.conn.Close()
}

// TestWhatABusCannotCarry is refused: nobody got it, nobody ever could, and the service stays.
func TestWhatABusCannotCarry(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 0)
	v := startChassis(t, d, nil)
	up(r, 1)
	for i, room := range []string{"a\x00b", "\xff"} {
		r.reg.Carry(core.Dispatch{Task: core.TaskID(fmt.Sprintf("t-%d", i)), Service: "chassis", Method: "setMoveTo", Params: core.Values{"position": room}})
		if a := heard[core.TaskAnswered](r, i+1, nil); a.Accepted || a.Unknown || a.NotSent || a.Reason != core.ReasonExecutorRefused {
			t.Errorf("answer %+v", a)
		}
	}
	r.reg.Carry(goTo("t-9"))
	if a := heard[core.TaskAnswered](r, 3, nil); !a.Accepted || strings.Count(v.did(), "goto") != 1 {
		t.Errorf("answer %+v, the vendor did %s", a, v.did())
	}
}

// TestEveryTypeThatIsWritten arrives as what the map says.
func TestEveryTypeThatIsWritten(t *testing.T) {
	d := startDaemon(t)
	arg := func(kind string, value any) object { return object{"type": kind, "value": value} }
	r := newMapRig(t, d, changed(t, member{"operations stopMovement executor dbus map call args", []any{
		arg("b", true), arg("y", 255), arg("n", -3), arg("q", 65535), arg("i", -70000), arg("u", 70000), arg("x", -5e9), arg("t", 5e9), arg("d", 0.5),
		arg("s", "word"), arg("o", "/a/b"), arg("g", "a{sv}"), object{"type": "v", "of": "q", "value": 7}, arg("as", []any{"a", "b"}),
		object{"type": "a{sv}", "fields": object{"n": arg("n", 1), "v": object{"type": "v", "of": "as", "value": "one"},
			"in": object{"type": "a{sv}", "fields": object{"deep": arg("s", "x")}}}},
	}}), 0)
	v := newChassis(t, d)
	got := make(chan string, 1)
	v.start(map[string]any{chassisIface + ".Stop": func(b bool, y byte, n int16, q uint16, i int32, u uint32, x int64, tt uint64, f float64, s string, o godbus.ObjectPath,
		g godbus.Signature, va godbus.Variant, as []string, dict map[string]godbus.Variant) *godbus.Error {
		in, _ := dict["in"].Value().(map[string]godbus.Variant)
		got <- fmt.Sprintln(b, y, n, q, i, u, x, tt, f, s, o, g.String(), va.Signature(), va.Value(), as, dict["n"].Signature(), dict["v"].Value(), in["deep"].Value())
		return nil
	}})
	up(r, 1)
	r.reg.Carry(core.Dispatch{Task: "t-1", Service: "chassis", Method: "stopMovement"})
	if e := heard[core.TaskEnded](r, 1, nil); e.Outcome != core.OutcomeDone {
		t.Errorf("end %+v", e)
	}
	arrived := <-got
	if want := "true 255 -3 65535 -70000 70000 -5000000000 5000000000 0.5 word /a/b a{sv} q 7 [a b] n [one] x\n"; arrived != want {
		t.Errorf("arguments are %s not %s", arrived, want)
	}
}

// TestEveryTypeThatIsRead: whatever shape a signal has, its values are found by their place.
func TestEveryTypeThatIsRead(t *testing.T) {
	d := startDaemon(t)
	type pair struct {
		Name string
		At   []struct{ X, Y int16 }
	}
	body := []any{true, byte(1), int16(-2), uint16(3), int32(-4), uint32(5), int64(-6), uint64(7), 0.25, "word", godbus.ObjectPath("/a"), godbus.ParseSignatureMust("as"),
		godbus.MakeVariant(godbus.MakeVariant("deep")), []pair{{"p", []struct{ X, Y int16 }{{1, 2}, {3, 4}}}}, map[uint32]string{9: "nine"}, map[string]godbus.Variant{"room": godbus.MakeVariant("hall")}, uint64(1) << 60}
	for place, want := range map[string]any{"0": true, "1": 1.0, "2": -2.0, "3": 3.0, "4": -4.0, "5": 5.0, "6": -6.0, "7": 7.0, "8": 0.25, "9": "word", "10": "/a", "11": "as", "12": "deep",
		"13.0.0": "p", "13.0.1.1.0": 3.0, "14.9": "nine", "15.room": "hall", "16": nil, "13": nil, "13.7": nil, "15.hall": nil, "99": nil, "0.1": nil} {
		key, kind := "sound.volume", "number"
		switch want.(type) {
		case bool:
			key, kind = "sound.muted", "boolean"
		case string:
			key, kind = "content.session_id", "string"
		}
		t.Run(place+" "+kind, func(t *testing.T) {
			r := newMapRig(t, d, changed(t, member{"services chassis context", object{key: object{"property": "None", "signals": []any{object{"signal": "All", "field": place}}}}}), 0)
			v := startChassis(t, d, nil)
			up(r, 1)
			heard[core.ContextRead](r, 1, nil) // the property is not there
			v.emit(chassisPath, chassisIface+".All", body...)
			c := heard[core.ContextRead](r, 2, nil)
			if got := c.Values[0]; got.Available != (want != nil) || got.Value != want {
				t.Errorf("%+v, want %v", got, want)
			}
			v.conn.Close()
			heard[core.ExecutorDown](r, 1, nil)
		})
	}
}
