package home_test

import (
	"slices"
	"testing"
	"time"

	"deviceagent/testbed/home"
)

var kitchen = params{"position": params{"room_id": "kitchen"}}

// moving is a rig whose robot has been under way from the living room to the kitchen (10 s of driving) for 4 s, as task t.
func moving(t *testing.T, faults ...string) *rig {
	t.Helper()
	var f home.Faults
	for _, text := range faults {
		if err := f.Add(text); err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t, home.Options{Start: "living_room", Faults: f})
	r.invoke("t", "setMoveTo", kitchen)
	r.run(4500 * time.Millisecond)
	return r
}

func (r *rig) results(id string) []string {
	var out []string
	for _, e := range r.said {
		if e.Result != nil && e.Result.TaskID == id {
			out = append(out, e.Result.Outcome+":"+e.Result.Reason)
		}
	}
	return out
}

func (r *rig) wantResults(id string, want ...string) {
	r.t.Helper()
	if got := r.results(id); !slices.Equal(got, want) {
		r.t.Fatalf("results of %s: %q, want %q; said %q", id, got, want, r.events())
	}
}

func (r *rig) wantValue(key string, want any) {
	r.t.Helper()
	if got := r.value(key); got != want {
		r.t.Fatalf("%s is %v, want %v", key, got, want)
	}
}

func (r *rig) saw(name, task string) bool {
	return slices.ContainsFunc(r.said, func(e home.Emission) bool {
		return e.Event != nil && e.Event.Name == name && e.Event.TaskID == task
	})
}

func TestDriveTakesTheTimeOfItsWay(t *testing.T) {
	r := newRig(t, home.Options{Start: "living_room"})
	r.invoke("t", "setMoveTo", params{"position": "study"})
	r.run(time.Minute)
	// 5 m to the kitchen, √20 m to the study, at 0.5 m/s after 500 ms of planning.
	m := home.Movements(r.log)
	want := home.Movement{TaskID: "t", Method: "setMoveTo", Room: "study", EndRoom: "study", StartMS: 500, EndMS: 500 + 10000 + 2*4472, Ended: true, Reason: "arrived"}
	if len(m) != 1 || m[0] != want {
		t.Fatalf("movements %+v, want %+v", m, want)
	}
}

func TestLocationChangesAtTheDoorAndIsSaidAgainAtTheEnd(t *testing.T) {
	r := newRig(t, home.Options{Start: "living_room"})
	r.invoke("t", "setMoveTo", kitchen)
	r.run(time.Minute)
	var at []int64
	for _, e := range r.said {
		for _, v := range e.Context {
			if v.Key == "movement.location" && v.Value == "kitchen" {
				at = append(at, e.AtMS)
			}
		}
	}
	if !slices.Equal(at, []int64{5500, 10500}) {
		t.Fatalf("location said at %v ms, want at the door (5500) and at arrival (10500)", at)
	}
}

func TestContextOfAChangeComesBeforeItsEventAndTheEventBeforeTheResult(t *testing.T) {
	r := newRig(t, home.Options{Start: "living_room"})
	r.invoke("t", "setMoveTo", kitchen)
	r.run(time.Minute)
	rest, arrived, result := -1, -1, -1
	for i, e := range r.said {
		switch {
		case e.Event != nil && e.Event.Name == "movement.arrived":
			arrived = i
		case e.Result != nil:
			result = i
		}
		for _, v := range e.Context {
			if v.Key == "movement.is_moving" && v.Value == false {
				rest = i
			}
		}
	}
	if rest < 0 || rest > arrived || arrived > result {
		t.Fatalf("rest at %d, arrived at %d, result at %d", rest, arrived, result)
	}
}

func TestEndsOfAMove(t *testing.T) {
	for _, tc := range []struct {
		name   string
		faults []string
		do     func(*rig)
		result []string // of the move, a minute later
		event  string
		room   string
		still  bool
	}{
		{"cancel", nil, func(r *rig) { r.home.Cancel(r.now, "t") }, []string{"cancelled:"}, "movement.stopped", "living_room", true},
		{"cancel twice", nil, func(r *rig) { r.home.Cancel(r.now, "t"); r.home.Cancel(r.now, "t") }, []string{"cancelled:"}, "movement.stopped", "living_room", true},
		{"stop operation", nil, func(r *rig) { r.invoke("s", "stopMovement", nil) }, []string{"cancelled:stopped"}, "movement.stopped", "living_room", true},
		{"red button", nil, func(r *rig) { r.home.Press(r.now, "stop") }, []string{"cancelled:safety_stopped"}, "movement.stopped", "living_room", true},
		{"lifted", nil, func(r *rig) { r.home.Lift(r.now) }, []string{"failed:lifted"}, "movement.failed", "living_room", true},
		{"critical fault", nil, func(r *rig) { r.home.Fault(r.now, "wheel", "critical") }, []string{"failed:robot_fault"}, "movement.failed", "living_room", true},
		{"pushed away", nil, func(r *rig) { r.home.MoveByHand(r.now, "space_1") }, []string{"failed:external_stop"}, "movement.failed", "space_1", true},
		{"screen button only reports", nil, func(r *rig) { r.home.Press(r.now, "cancel") }, []string{"done:"}, "movement.arrived", "kitchen", true},
		{"voice only reports", nil, func(r *rig) { r.home.Say(r.now, "멈춰!") }, []string{"done:"}, "movement.arrived", "kitchen", true},
		{"empty battery", nil, func(r *rig) { r.home.SetBattery(r.now, 0) }, []string{"failed:battery_low"}, "movement.failed", "living_room", true},
		{"stuck", []string{"setMoveTo:stuck"}, func(r *rig) { r.home.Cancel(r.now, "t"); r.invoke("s", "stopMovement", nil) }, nil, "movement.started", "living_room", false},
		{"stuck and the red button", []string{"setMoveTo:stuck"}, func(r *rig) { r.home.Press(r.now, "stop") }, []string{"cancelled:safety_stopped"}, "movement.stopped", "living_room", true},
		{"ignores a cancel", []string{"setMoveTo:ignore_cancel"}, func(r *rig) { r.home.Cancel(r.now, "t") }, []string{"done:"}, "movement.arrived", "kitchen", true},
		{"ignores a stop", []string{"setMoveTo:ignore_stop"}, func(r *rig) { r.invoke("s", "stopMovement", nil) }, []string{"done:"}, "movement.arrived", "kitchen", true},
		{"fails", []string{"setMoveTo:fail_after=5s,fail_reason=wheel"}, func(*rig) {}, []string{"failed:wheel"}, "movement.failed", "living_room", true},
		{"arrives elsewhere", []string{"setMoveTo:arrive_elsewhere=space_1"}, func(*rig) {}, []string{"done:"}, "movement.arrived", "space_1", true},
		{"lies", []string{"setMoveTo:lie_done"}, func(*rig) {}, []string{"done:"}, "", "living_room", true},
		{"says no result", []string{"setMoveTo:no_result"}, func(*rig) {}, nil, "movement.arrived", "kitchen", true},
		{"loses the arrival", []string{"setMoveTo:drop_event=movement.arrived"}, func(*rig) {}, []string{"done:"}, "", "kitchen", true},
		{"restart of its service", nil, func(r *rig) { r.home.Restart(r.now, false) }, nil, "", "living_room", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := moving(t, tc.faults...)
			tc.do(r)
			r.run(time.Minute)
			r.wantResults("t", tc.result...)
			terminal := slices.ContainsFunc([]string{"movement.arrived", "movement.failed", "movement.stopped"}, func(n string) bool { return r.saw(n, "t") })
			if tc.event != "" && !r.saw(tc.event, "t") || terminal != (tc.event != "" && tc.event != "movement.started") {
				t.Fatalf("want %q, said %q", tc.event, r.events())
			}
			if got := r.home.Read([]string{"movement.is_moving"})[0].Value; got != !tc.still {
				t.Fatalf("is_moving %v", got)
			}
			if tc.name != "lifted" {
				r.wantValue("movement.location", tc.room)
			}
			if faults := home.CheckLog(r.log); len(faults) > 0 {
				t.Fatal(faults)
			}
		})
	}
}

func TestStopTakesTheBrakeTimeAndIsSaidToBoth(t *testing.T) {
	r := moving(t)
	r.invoke("s", "stopMovement", nil)
	r.run(299 * time.Millisecond)
	r.wantValue("movement.is_moving", true)
	r.run(time.Millisecond)
	r.wantValue("movement.is_moving", false)
	r.wantResults("s", "done:")
	if !r.saw("movement.stopped", "t") || !r.saw("movement.stopped", "s") {
		t.Fatalf("said %q", r.events())
	}
}

func TestStopBeforeTheWheelsTurnStartsNoMotion(t *testing.T) {
	r := newRig(t, home.Options{Start: "living_room"})
	r.invoke("t", "setMoveTo", kitchen)
	r.invoke("s", "stopMovement", nil)
	r.run(time.Minute)
	r.wantResults("t", "cancelled:stopped")
	r.wantResults("s", "done:")
	if m := home.Movements(r.log); len(m) != 0 {
		t.Fatalf("moved: %+v", m)
	}
}

func TestPauseAndResume(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after time.Duration // of the invoke
		wait  time.Duration // between pause and resume
		end   int64         // of the motion, ms: 10500 without a pause
		pause int
	}{
		{"on the way", 4 * time.Second, time.Minute, 4000 + 60000 + 6500, 1},
		{"while it plans", 200 * time.Millisecond, time.Minute, 60200 + 500 + 10000, 0},
		{"resumed while it brakes", 4 * time.Second, 100 * time.Millisecond, 4300 + 6500, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, home.Options{Start: "living_room"})
			r.invoke("t", "setMoveTo", kitchen)
			r.run(tc.after)
			if a := r.home.Pause(r.now, "t"); !a.Accepted {
				t.Fatal(a)
			}
			r.run(tc.wait)
			if tc.wait > time.Second {
				r.wantValue("movement.is_moving", false)
				if st := r.home.Query(r.now, "t"); st.State != home.Running || !st.Paused {
					t.Fatalf("query: %+v", st)
				}
			}
			if a := r.home.Resume(r.now, "t"); !a.Accepted {
				t.Fatal(a)
			}
			r.run(time.Minute)
			r.wantResults("t", "done:")
			m := home.Movements(r.log)
			if len(m) != 1 || m[0].EndMS != tc.end || m[0].Pauses != tc.pause || m[0].EndRoom != "kitchen" {
				t.Fatalf("movements %+v, want one to %d ms with %d pauses", m, tc.end, tc.pause)
			}
		})
	}
}

func TestPausedMoveCanBeCancelledAndIsNotResumedInTheAir(t *testing.T) {
	r := moving(t)
	r.home.Pause(r.now, "t")
	r.run(time.Second)
	r.home.Press(r.now, "stop")
	r.run(time.Second)
	r.wantResults("t", "cancelled:safety_stopped")
	r.home.Press(r.now, "unstop")
	r.invoke("u", "setMoveTo", kitchen)
	r.run(3 * time.Second)
	r.home.Pause(r.now, "u")
	r.run(time.Second)
	r.home.Cancel(r.now, "u")
	r.run(0)
	r.wantResults("u", "cancelled:")
	if a := r.home.Pause(r.now, "u"); a.Accepted || a.Reason != home.ReasonAlreadyEnded {
		t.Fatalf("%+v", a)
	}
}

func TestOwnButtonsAreExternal(t *testing.T) {
	r := newRig(t, home.Options{Start: "living_room"})
	r.home.Press(r.now, "clean")
	r.home.Press(r.now, "home")
	r.run(time.Minute)
	r.home.Press(r.now, "clean_stop")
	r.run(time.Second)
	for _, name := range []string{"external_start", "external_stop", "cleaning.started", "cleaning.stopped", "movement.arrived", "station.docked"} {
		if !r.saw(name, "") {
			t.Errorf("no %s in %q", name, r.events())
		}
	}
	r.wantValue("station.docked", true)
	if r.home.Press(r.now, "warp") {
		t.Error("an unknown button was pressed")
	}
}

func TestMoveByHandChangesTheRoomAndBegetsNoMotion(t *testing.T) {
	r := newRig(t, home.Options{})
	if !r.home.MoveByHand(r.now, "주방") {
		t.Fatal("refused")
	}
	r.run(time.Second)
	r.wantValue("movement.is_moving", true)
	r.wantValue("station.docked", false)
	r.run(time.Minute)
	r.wantValue("movement.location", "kitchen")
	r.wantValue("movement.is_moving", false)
	if len(home.Movements(r.log)) != 0 || !r.saw("external_start", "") || !r.saw("external_stop", "") || !r.saw("station.undocked", "") {
		t.Fatalf("log %+v, said %q", r.log, r.events())
	}
}

func TestLiftMakesTheLocationMissingUntilItIsFoundAgain(t *testing.T) {
	r := newRig(t, home.Options{Start: "study"})
	r.home.Lift(r.now)
	r.run(time.Second)
	r.wantValue("movement.location", nil)
	r.home.Place(r.now, "kitchen")
	r.run(500 * time.Millisecond)
	r.wantValue("movement.location", nil)
	r.run(time.Second)
	r.wantValue("movement.location", "kitchen")
	if !r.saw("robot.lifted", "") || !r.saw("robot.placed", "") {
		t.Fatalf("said %q", r.events())
	}
}
