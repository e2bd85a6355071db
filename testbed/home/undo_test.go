package home_test

import (
	"slices"
	"testing"
	"time"

	"deviceagent/testbed/home"
)

// What a fault undoes was brought about first, is as before afterwards, and nobody is said to have wished it.
func TestWhatComesUndoneByItself(t *testing.T) {
	on := map[string]any{"on": true}
	for _, tc := range []struct {
		method string
		params map[string]any
		key    string
		set    any // by the task
		undone any // five seconds after the fault has come
		after  any // when all is at rest again
	}{
		{"setScreen", map[string]any{"brightness": 10.0}, "display.brightness", 10.0, 80.0, 80.0},
		{"setVolume", map[string]any{"level": 5.0}, "sound.volume", 5.0, 50.0, 50.0},
		{"setNightMode", on, "mode.night", true, false, false},
		{"setMannerMode", on, "sound.muted", true, false, false},
		{"setMannerMode", on, "mode.manner", true, false, false},
		{"stopMovement", nil, "movement.is_moving", false, true, false},
		{"returnToStation", nil, "station.docked", true, false, false},
		{"stopCleaning", nil, "cleaning.is_running", false, true, false},
	} {
		t.Run(tc.method, func(t *testing.T) {
			var f home.Faults
			if err := f.Add(tc.method + ":reverts=30s"); err != nil {
				t.Fatal(err)
			}
			r := newRig(t, home.Options{Start: "living_room", Faults: f})
			r.invoke("t", tc.method, tc.params)
			for !slices.ContainsFunc(r.log, func(e home.Entry) bool { return e.Kind == home.KindResult }) {
				r.run(100 * time.Millisecond)
			}
			r.run(29 * time.Second)
			if got := r.value(tc.key); got != tc.set {
				t.Fatalf("%s is %v, want %v", tc.key, got, tc.set)
			}
			r.run(6 * time.Second)
			if got := r.value(tc.key); got != tc.undone {
				t.Fatalf("undone, %s is %v, want %v", tc.key, got, tc.undone)
			}
			r.run(2 * time.Minute)
			if got := r.value(tc.key); got != tc.after {
				t.Fatalf("in the end %s is %v, want %v", tc.key, got, tc.after)
			}
			for _, e := range r.log {
				if e.Event == "external_start" || e.Event == "external_stop" {
					t.Errorf("%s: nobody did that", e.Event)
				}
			}
			if faults := home.CheckLog(r.log); len(faults) > 0 {
				t.Error(faults)
			}
		})
	}
}

func TestContraryDoesTheOpposite(t *testing.T) {
	var f home.Faults
	if err := f.Add("setNightMode:contrary"); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, home.Options{Faults: f})
	r.invoke("t", "setNightMode", map[string]any{"on": true})
	r.run(time.Second)
	if got := r.events(); !slices.Contains(got, "mode.changed[t] mode:night on:false") || r.value("mode.night") != false {
		t.Errorf("%v, night %v", got, r.value("mode.night"))
	}
}

func TestAKeyThatNobodyCanRead(t *testing.T) {
	var f home.Faults
	if err := f.Add("no_value=battery.level"); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, home.Options{Faults: f})
	r.run(time.Hour)
	if v := r.home.Read([]string{"battery.level", "battery.charging"}); v[0].Available || !v[1].Available {
		t.Errorf("%+v", v)
	}
	for _, e := range r.said {
		for _, v := range e.Context {
			if v.Key == "battery.level" && v.Available {
				t.Errorf("said %v", v.Value)
			}
		}
	}
}

func TestAPersonTurnsASetting(t *testing.T) {
	for _, tc := range []struct {
		what, key string
		on        bool
		want      any
	}{
		{"screen", "display.brightness", false, 0.0}, {"screen", "display.brightness", true, 80.0}, {"mute", "sound.muted", true, true},
		{"night", "mode.night", true, true}, {"night", "display.brightness", true, 10.0}, {"manner", "sound.muted", true, true},
	} {
		r := newRig(t, home.Options{})
		if !r.home.Turn(r.now, tc.what, tc.on) || r.value(tc.key) != tc.want {
			t.Errorf("%s %v: %s is %v, want %v", tc.what, tc.on, tc.key, r.value(tc.key), tc.want)
		}
		if r.home.Turn(r.now, "radio", true) {
			t.Error("there is no radio")
		}
	}
}

func TestATaskBeginsLate(t *testing.T) {
	var f home.Faults
	if err := f.Add("setMoveTo:begin_late=5s"); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, home.Options{Start: "living_room", Faults: f})
	if a := r.invoke("t", "setMoveTo", map[string]any{"position": "kitchen"}); !a.Accepted {
		t.Fatalf("%+v", a)
	}
	r.run(5400 * time.Millisecond)
	if r.value("movement.is_moving") != false {
		t.Error("it moves too early")
	}
	r.run(time.Second)
	if r.value("movement.is_moving") != true {
		t.Error("it does not move")
	}
	r.invoke("u", "setMoveTo", map[string]any{"position": "study"}) // the wheels are in use when it is to begin
	r.run(6 * time.Second)
	if r.value("movement.location") != "kitchen" || !slices.Contains(r.events(), "= failed executor_busy") {
		t.Errorf("%v in %v", r.events(), r.value("movement.location"))
	}
}
