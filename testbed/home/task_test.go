package home_test

import (
	"slices"
	"testing"
	"time"

	"deviceagent/testbed/home"
)

func TestQueryOfAnUnknownTaskSealsIt(t *testing.T) {
	r := newRig(t, home.Options{})
	if st := r.home.Query(0, "t"); st.State != home.Unknown {
		t.Fatalf("%+v", st)
	}
	for range 2 {
		if a := r.invoke("t", "setMoveTo", kitchen); a.Accepted || a.Reason != home.ReasonSealed {
			t.Fatalf("%+v", a)
		}
	}
	r.run(time.Minute)
	if st := r.home.Query(r.now, "t"); st.State != home.Unknown || len(home.Movements(r.log)) != 0 {
		t.Fatalf("%+v, %+v", st, r.log)
	}
}

func TestCancelThatOvertakesItsInvokeSealsIt(t *testing.T) {
	r := newRig(t, home.Options{})
	if a := r.home.Cancel(0, "t"); a.Accepted || a.Reason != home.ReasonUnknownTask {
		t.Fatalf("%+v", a)
	}
	if a := r.invoke("t", "setMoveTo", kitchen); a.Accepted || a.Reason != home.ReasonSealed {
		t.Fatalf("%+v", a)
	}
}

func TestRepeatedInvokeMovesOnce(t *testing.T) {
	r := newRig(t, home.Options{})
	for i := range 3 {
		if a := r.invoke("t", "setMoveTo", kitchen); a.Accepted != (i == 0) || i > 0 && a.Reason != home.ReasonTaskKnown {
			t.Fatalf("%+v", a)
		}
		r.run(20 * time.Second)
	}
	r.run(time.Minute)
	if m := home.Movements(r.log); len(m) != 1 {
		t.Fatalf("%d movements", len(m))
	}
	r.wantResults("t", "done:")
}

func TestQueryTellsTheEnd(t *testing.T) {
	r := moving(t, "setMoveTo:no_result")
	if st := r.home.Query(r.now, "t"); st.State != home.Running || st.Event != nil {
		t.Fatalf("%+v", st)
	}
	r.run(time.Minute)
	st := r.home.Query(r.now, "t")
	if st.State != home.Ended || st.Result.Outcome != home.Done || st.Event.Name != "movement.arrived" || st.Event.Data["room_id"] != "kitchen" {
		t.Fatalf("%+v", st)
	}
	r.invoke("u", "setMoveTo", params{"position": "moon"})
	if st := r.home.Query(r.now, "u"); st.State != home.Ended || st.Result.Outcome != home.Failed || st.Result.Reason != home.ReasonUnknownLocation {
		t.Fatalf("%+v", st)
	}
	if a := r.home.Cancel(r.now, "t"); a.Accepted || a.Reason != home.ReasonAlreadyEnded {
		t.Fatalf("%+v", a)
	}
}

func TestFaultsOfCalls(t *testing.T) {
	for _, tc := range []struct {
		fault                 string
		invoke                home.Answer
		moves                 bool
		cancel                home.Answer
		query                 home.Status
		resultSaid, cancelled bool
	}{
		{fault: "setMoveTo:refuse=executor_busy", invoke: home.Answer{Reason: "executor_busy"}, cancel: home.Answer{Reason: home.ReasonAlreadyEnded}, query: home.Status{State: home.Ended}},
		{fault: "setMoveTo:hang", invoke: home.Answer{Silent: true}, cancel: home.Answer{Reason: home.ReasonUnknownTask}, query: home.Status{State: home.Unknown}},
		{fault: "setMoveTo:mute", invoke: home.Answer{Silent: true, Accepted: true}, moves: true, cancel: home.Answer{Accepted: true}, query: home.Status{State: home.Running}, cancelled: true},
		{fault: "setMoveTo:answer_late=7s", invoke: home.Answer{Accepted: true, Late: 7 * time.Second}, moves: true, cancel: home.Answer{Accepted: true}, query: home.Status{State: home.Running}, resultSaid: true, cancelled: true},
		{fault: "setMoveTo:hang_query", invoke: home.Answer{Accepted: true}, moves: true, cancel: home.Answer{Accepted: true}, query: home.Status{Silent: true}, resultSaid: true, cancelled: true},
		{fault: "setMoveTo:hang_cancel", invoke: home.Answer{Accepted: true}, moves: true, cancel: home.Answer{Silent: true}, query: home.Status{State: home.Running}, resultSaid: true},
		{fault: "setMoveTo:refuse_cancel", invoke: home.Answer{Accepted: true}, moves: true, cancel: home.Answer{Reason: "cancel_refused"}, query: home.Status{State: home.Running}, resultSaid: true},
		{fault: "deaf", invoke: home.Answer{Silent: true}, cancel: home.Answer{Silent: true}, query: home.Status{Silent: true}},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			var f home.Faults
			if err := f.Add(tc.fault); err != nil {
				t.Fatal(err)
			}
			r := newRig(t, home.Options{Start: "living_room", Faults: f})
			if a := r.invoke("t", "setMoveTo", kitchen); a != tc.invoke {
				t.Fatalf("invoke %+v, want %+v", a, tc.invoke)
			}
			r.run(2 * time.Second)
			if st := r.home.Query(r.now, "t"); st.State != tc.query.State || st.Silent != tc.query.Silent {
				t.Fatalf("query %+v, want %+v", st, tc.query)
			}
			if a := r.home.Cancel(r.now, "t"); a != tc.cancel {
				t.Fatalf("cancel %+v, want %+v", a, tc.cancel)
			}
			r.run(time.Minute)
			if moved := len(home.Movements(r.log)) == 1; moved != tc.moves {
				t.Fatalf("moved %v", moved)
			}
			if said := len(r.results("t")) == 1; said != tc.resultSaid {
				t.Fatalf("results %q", r.results("t"))
			}
			if stopped := r.saw("movement.stopped", "t"); stopped != tc.cancelled {
				t.Fatalf("stopped %v", stopped)
			}
		})
	}
}

func TestFaultForACountOfInvokes(t *testing.T) {
	var f home.Faults
	if err := f.Add("setMoveTo:refuse=executor_busy,times=2"); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, home.Options{Faults: f})
	for i, want := range []bool{false, false, true} {
		if a := r.invoke(string(rune('a'+i)), "setMoveTo", kitchen); a.Accepted != want {
			t.Fatalf("invoke %d: %+v", i, a)
		}
	}
	if f.Method["setMoveTo"].Times != 2 {
		t.Fatal("the home changed its caller's faults")
	}
}

func TestFaultTextIsRefusedWhole(t *testing.T) {
	for _, text := range []string{"setMoveTo:nonsense", "playVideo:hang", "nonsense", "setMoveTo:fail_after=x", "setMoveTo:hang,nonsense",
		"setMoveTo:reverts=1s", "no_value=sound.colour", ""} {
		var f home.Faults
		if err := f.Add(text); err == nil || len(f.Method) > 0 {
			t.Errorf("%q: %v, %+v", text, err, f)
		}
	}
	method, whole := home.FaultWords()
	for _, w := range method {
		var f home.Faults
		v := map[string]string{"answer_late": "1s", "fail_after": "1s", "times": "1", "reverts": "1s", "begin_late": "1s"}[w]
		if err := f.Add("setVolume:" + w + "=" + v); err != nil {
			t.Errorf("%s: %v", w, err)
		}
	}
	for _, w := range whole {
		var f home.Faults
		v := map[string]string{"delay_events": "1s", "no_value": "sound.muted"}[w]
		if err := f.Add(w + "=" + v); err != nil {
			t.Errorf("%s: %v", w, err)
		}
	}
}

func TestFaultsOfWhatIsSaid(t *testing.T) {
	count := func(r *rig, name string) (n int, at int64) {
		for _, e := range r.said {
			if e.Event != nil && e.Event.Name == name {
				n, at = n+1, e.AtMS
			}
		}
		return n, at
	}
	for _, tc := range []struct {
		fault string
		n     int
		at    int64
	}{
		{"setMoveTo:duplicate_events", 2, 10500},
		{"duplicate_events", 2, 10500},
		{"drop_event=movement.arrived", 0, 0},
		{"delay_events=5s", 1, 15500},
		{"silent_context", 1, 10500},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			var f home.Faults
			if err := f.Add(tc.fault); err != nil {
				t.Fatal(err)
			}
			r := newRig(t, home.Options{Start: "living_room", Faults: f})
			r.invoke("t", "setMoveTo", kitchen)
			r.run(time.Minute)
			n, at := count(r, "movement.arrived")
			if n != tc.n || at != tc.at {
				t.Fatalf("%d arrivals, the last at %d ms; want %d at %d", n, at, tc.n, tc.at)
			}
			pushed := false
			for _, e := range r.said {
				pushed = pushed || len(e.Context) > 0
			}
			if pushed != (tc.fault != "silent_context") {
				t.Fatalf("context pushed: %v", pushed)
			}
		})
	}
}

func TestReorderTurnsCallbacksThatAreSaidTogether(t *testing.T) {
	r := newRig(t, home.Options{Start: "living_room", DrainIdle: 1, Faults: home.Faults{Reorder: true}})
	r.invoke("t", "setMoveTo", kitchen)
	r.run(time.Minute)
	want := []string{"movement.started[t] room_id:kitchen", "= done", "movement.arrived[t] room_id:kitchen"}
	if got := r.events(); !slices.Equal(got, want) {
		t.Fatalf("said %q, want %q", got, want)
	}
}

func TestALieThatARestartOvertakesHasOneResult(t *testing.T) {
	r := newRig(t, home.Options{Faults: home.Faults{Method: map[string]home.Fault{"setMoveTo": {LieDone: true}}}})
	r.invoke("t", "setMoveTo", kitchen)
	r.home.Restart(r.now, false)
	r.run(time.Minute)
	if st := r.home.Query(r.now, "t"); st.Result.Reason != home.ReasonRestarted || len(home.CheckLog(r.log)) > 0 {
		t.Fatalf("%+v, %q", st.Result, home.CheckLog(r.log))
	}
}

func TestRestartKeepsOrForgetsTheTasks(t *testing.T) {
	for _, forget := range []bool{false, true} {
		r := moving(t)
		r.home.Restart(r.now, forget)
		r.run(time.Minute)
		st := r.home.Query(r.now, "t")
		if forget && st.State != home.Unknown || !forget && (st.State != home.Ended || st.Result.Reason != home.ReasonRestarted) {
			t.Fatalf("forget %v: %+v", forget, st)
		}
	}
}
