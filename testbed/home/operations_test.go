package home_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"deviceagent/testbed/home"
)

// rig is a home with its log and all that it said.
type rig struct {
	t    *testing.T
	home *home.Home
	log  []home.Entry
	said []home.Emission
	now  time.Duration
}

func newRig(t *testing.T, opt home.Options) *rig {
	r := &rig{t: t}
	opt.Log = func(e home.Entry) { r.log = append(r.log, e) }
	r.home = home.New(home.Flat(), opt)
	return r
}

// run lets the model go on by d, change by change.
func (r *rig) run(d time.Duration) {
	r.t.Helper()
	end := r.now + d
	for {
		at, ok := r.home.NextChange()
		if !ok || at > end {
			break
		}
		if at < r.now {
			r.t.Fatalf("next change at %v lies before %v", at, r.now)
		}
		r.now = at
		r.said = append(r.said, r.home.Advance(at)...)
	}
	r.now = end
	r.said = append(r.said, r.home.Advance(end)...)
}

func (r *rig) invoke(id, method string, params map[string]any) home.Answer {
	return r.home.Invoke(r.now, id, method, params)
}

// events is what was said as one text a line: "movement.arrived[t1]{room_id:kitchen}".
func (r *rig) events() []string {
	var out []string
	for _, e := range r.said {
		if e.Event != nil && !strings.HasSuffix(e.Event.Name, ".progress") {
			out = append(out, show(e.Event))
		}
		if e.Result != nil {
			out = append(out, strings.TrimSuffix("= "+e.Result.Outcome+" "+e.Result.Reason, " "))
		}
	}
	return out
}

func show(ev *home.Event) string {
	s := ev.Name
	if ev.TaskID != "" {
		s += "[" + ev.TaskID + "]"
	}
	if len(ev.Data) > 0 {
		s += strings.TrimPrefix(fmt.Sprint(ev.Data), "map[")
		s = strings.Replace(s, "]", "] ", 1)
		s = strings.TrimSuffix(strings.TrimSpace(s), "]")
	}
	return s
}

func (r *rig) value(key string) any {
	r.t.Helper()
	v := r.home.Read([]string{key})[0]
	if !v.Available {
		return nil
	}
	return v.Value
}

type params = map[string]any

func TestEveryOperationSaysWhatItDoes(t *testing.T) {
	for _, tc := range []struct {
		name   string
		opt    home.Options
		method string
		params params
		run    time.Duration
		during func(*rig)
		want   []string
	}{
		{"move", home.Options{Start: "living_room"}, "setMoveTo", params{"position": params{"room_id": "kitchen"}}, time.Minute, nil,
			[]string{"movement.started room_id:kitchen", "movement.arrived room_id:kitchen", "= done"}},
		{"move by name", home.Options{Start: "living_room"}, "setMoveTo", params{"position": "주방"}, time.Minute, nil,
			[]string{"movement.started room_id:kitchen", "movement.arrived room_id:kitchen", "= done"}},
		{"move off the station", home.Options{}, "setMoveTo", params{"position": "living_room"}, time.Minute, nil,
			[]string{"station.undocked", "movement.started room_id:living_room", "battery.changed charging:false level:80", "movement.arrived room_id:living_room", "= done"}},
		{"move to where it stands", home.Options{Start: "kitchen"}, "setMoveTo", params{"position": "kitchen"}, time.Minute, nil,
			[]string{"movement.arrived room_id:kitchen", "= done"}},
		{"move to where no way leads", home.Options{Start: "kitchen"}, "setMoveTo", params{"position": "balcony"}, time.Minute, nil,
			[]string{"movement.failed code:unreachable", "= failed unreachable"}},
		{"return", home.Options{Start: "living_room"}, "returnToStation", nil, time.Minute, nil,
			[]string{"movement.started room_id:dock", "movement.arrived room_id:dock", "station.docked", "= done", "battery.changed charging:true level:80"}},
		{"return while docked", home.Options{}, "returnToStation", nil, time.Minute, nil,
			[]string{"movement.arrived room_id:dock", "station.docked", "= done"}},
		{"relative move", home.Options{Start: "study"}, "setMoving", params{"direction": "forward", "distance_cm": 30.0}, time.Minute, nil,
			[]string{"movement.started room_id:study", "movement.arrived room_id:study", "= done"}},
		{"stop with nothing to stop", home.Options{Start: "study"}, "stopMovement", nil, time.Minute, nil,
			[]string{"movement.stopped room_id:study", "= done"}},
		{"cleaning", home.Options{Start: "study"}, "startBasicAirClear", params{"duration_min": 2.0}, 3 * time.Minute, nil,
			[]string{"cleaning.started mode:fixed", "cleaning.completed mode:fixed", "= done"}},
		{"stop cleaning with nothing to stop", home.Options{Start: "study"}, "stopCleaning", nil, time.Minute, nil,
			[]string{"cleaning.stopped", "= done"}},
		{"air", home.Options{Start: "study", Air: map[string]float64{"study": 50}}, "getAirQuality", nil, time.Minute, nil,
			[]string{"air.measured grade:bad pm25:50", "= done"}},
		{"air without a reading", home.Options{Start: "study", Faults: home.Faults{NoReading: true}}, "getAirQuality", nil, time.Minute, nil,
			[]string{"air.measured", "= done"}},
		{"battery", home.Options{Start: "study"}, "getBatteryStatus", nil, time.Second, nil, []string{"= done"}},
		{"vital, completed by the person", home.Options{Start: "study"}, "startVitalSign", nil, time.Hour,
			func(r *rig) { r.home.CompleteVital(r.now) }, []string{"vital.started", "vital.completed", "= done"}},
		{"vital, cancelled by the person", home.Options{Start: "study"}, "startVitalSign", nil, time.Second,
			func(r *rig) { r.home.CancelVital(r.now) }, []string{"vital.started", "vital.cancelled", "= done"}},
		{"screen", home.Options{Start: "study"}, "setScreen", params{"brightness": 30.0}, time.Second, nil,
			[]string{"display.changed brightness:30 on:true", "= done"}},
		{"screen off", home.Options{Start: "study"}, "setScreen", params{"on": false}, time.Second, nil,
			[]string{"display.changed brightness:80 on:false", "= done"}},
		{"volume", home.Options{Start: "study"}, "setVolume", params{"level": 20.0}, time.Second, nil,
			[]string{"sound.changed level:20 muted:false", "= done"}},
		{"mute", home.Options{Start: "study"}, "setVolume", params{"mute": true}, time.Second, nil,
			[]string{"sound.changed level:50 muted:true", "= done"}},
		{"night", home.Options{Start: "study"}, "setNightMode", params{"on": true}, time.Second, nil,
			[]string{"display.changed brightness:10 on:true", "sound.changed level:15 muted:false", "mode.changed mode:night on:true", "= done"}},
		{"manner", home.Options{Start: "study"}, "setMannerMode", params{"on": true}, time.Second, nil,
			[]string{"sound.changed level:50 muted:true", "mode.changed mode:manner on:true", "= done"}},
		{"speech", home.Options{Start: "study"}, "setLlmTts", params{"text": "안녕하세요", "utterance_id": "u1"}, 10 * time.Second, nil,
			[]string{"speech.started utterance_id:u1", "speech.finished utterance_id:u1", "= done"}},
		{"stop speech with nothing to stop", home.Options{Start: "study"}, "stopTts", nil, time.Second, nil, []string{"= done"}},
		{"ampStop", home.Options{Start: "study"}, "ampStop", nil, time.Second, nil, []string{"= done"}},
		{"setAirCleanerOperation", home.Options{Start: "study"}, "setAirCleanerOperation", nil, time.Second, nil, []string{"= done"}},
		{"setStatusClean", home.Options{Start: "study"}, "setStatusClean", nil, time.Second, nil, []string{"= done"}},
		{"setDeviceStatus", home.Options{Start: "study"}, "setDeviceStatus", nil, time.Second, nil, []string{"= done"}},
		{"setConfig", home.Options{Start: "study"}, "setConfig", nil, time.Second, nil, []string{"= done"}},
		{"getConfig", home.Options{Start: "study"}, "getConfig", nil, time.Second, nil, []string{"= done"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.opt.DrainIdle == 0 {
				tc.opt.DrainIdle = 1 // no battery event in between
			}
			r := newRig(t, tc.opt)
			if a := r.invoke("t", tc.method, tc.params); !a.Accepted {
				t.Fatalf("refused: %s", a.Reason)
			}
			r.run(tc.run)
			if tc.during != nil {
				if len(r.home.Advance(r.now)) != 0 || slices.Contains(r.events(), "= done") {
					t.Fatalf("ended by itself: %q", r.events())
				}
				tc.during(r)
				r.run(time.Second)
			}
			var want []string
			for _, w := range tc.want { // all but battery events belong to the task
				name, data, _ := strings.Cut(w, " ")
				if name != "=" && name != "battery.changed" {
					w = strings.TrimSuffix(name+"[t] "+data, " ")
				} else if name == "battery.changed" {
					w = name + data
				}
				want = append(want, w)
			}
			if got := r.events(); !slices.Equal(got, want) {
				t.Fatalf("said\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if faults := home.CheckLog(r.log); len(faults) > 0 {
				t.Fatal(faults)
			}
		})
	}
}

func TestTheTableAboveCoversEveryMethod(t *testing.T) {
	r := newRig(t, home.Options{})
	for _, m := range home.Methods() {
		if a := r.invoke("x-"+m, m, nil); a.Reason == home.ReasonUnknownMethod {
			t.Errorf("%s is listed and unknown", m)
		}
	}
	if n := len(home.Methods()); n != 22 {
		t.Errorf("%d methods: add the new one to the table above", n)
	}
	if a := r.invoke("y", "playVideo", nil); a.Accepted || a.Reason != home.ReasonUnknownMethod {
		t.Errorf("playVideo: %+v", a)
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name   string
		opt    home.Options
		before func(*rig)
		method string
		params params
		want   string
	}{
		{"second move", home.Options{}, func(r *rig) { r.invoke("a", "setMoveTo", params{"position": "study"}) }, "setMoveTo", params{"position": "kitchen"}, home.ReasonBusy},
		{"return during a move", home.Options{}, func(r *rig) { r.invoke("a", "setMoveTo", params{"position": "study"}) }, "returnToStation", nil, home.ReasonBusy},
		{"driving clean during a move", home.Options{}, func(r *rig) { r.invoke("a", "setMoveTo", params{"position": "study"}) }, "startBasicAirClear", params{"mode": "all"}, home.ReasonBusy},
		{"fixed clean during a move", home.Options{}, func(r *rig) { r.invoke("a", "setMoveTo", params{"position": "study"}) }, "startBasicAirClear", params{"mode": "fixed"}, ""},
		{"move during a fixed clean", home.Options{}, func(r *rig) { r.invoke("a", "startBasicAirClear", nil) }, "setMoveTo", params{"position": "kitchen"}, ""},
		{"move during a driving clean", home.Options{}, func(r *rig) { r.invoke("a", "startBasicAirClear", params{"mode": "zone"}) }, "setMoveTo", params{"position": "kitchen"}, home.ReasonBusy},
		{"second clean", home.Options{}, func(r *rig) { r.invoke("a", "startBasicAirClear", nil) }, "startBasicAirClear", nil, home.ReasonBusy},
		{"move while pushed", home.Options{}, func(r *rig) { r.home.MoveByHand(r.now, "study") }, "setMoveTo", params{"position": "kitchen"}, home.ReasonBusy},
		{"unknown room", home.Options{}, nil, "setMoveTo", params{"position": "우주"}, home.ReasonUnknownLocation},
		{"no room", home.Options{}, nil, "setMoveTo", nil, home.ReasonUnknownLocation},
		{"move on an empty battery", home.Options{Start: "study", Battery: 4}, nil, "setMoveTo", params{"position": "kitchen"}, home.ReasonBatteryLow},
		{"return on an empty battery", home.Options{Start: "study", Battery: 4}, nil, "returnToStation", nil, ""},
		{"clean on an empty battery", home.Options{Start: "study", Battery: 4}, nil, "startBasicAirClear", nil, home.ReasonBatteryLow},
		{"move after the stop button", home.Options{}, func(r *rig) { r.home.Press(r.now, "stop") }, "setMoveTo", params{"position": "kitchen"}, home.ReasonSafety},
		{"stop after the stop button", home.Options{}, func(r *rig) { r.home.Press(r.now, "stop") }, "stopMovement", nil, ""},
		{"move after its release", home.Options{}, func(r *rig) { r.home.Press(r.now, "stop"); r.home.Press(r.now, "unstop") }, "setMoveTo", params{"position": "kitchen"}, ""},
		{"move in the air", home.Options{}, func(r *rig) { r.home.Lift(r.now) }, "setMoveTo", params{"position": "kitchen"}, home.ReasonLifted},
		{"move with a critical fault", home.Options{}, func(r *rig) { r.home.Fault(r.now, "wheel", "critical") }, "setMoveTo", params{"position": "kitchen"}, home.ReasonRobotFault},
		{"move with a small fault", home.Options{}, func(r *rig) { r.home.Fault(r.now, "lamp", "minor") }, "setMoveTo", params{"position": "kitchen"}, ""},
		{"second vital", home.Options{}, func(r *rig) { r.invoke("a", "startVitalSign", nil) }, "startVitalSign", nil, home.ReasonBusy},
		{"second speech", home.Options{}, func(r *rig) { r.invoke("a", "setLlmTts", params{"text": "오늘 주요 뉴스입니다"}) }, "setLlmTts", params{"text": "b"}, home.ReasonBusy},
		{"empty speech", home.Options{}, nil, "setLlmTts", params{"text": " "}, home.ReasonBadParams},
		{"brightness", home.Options{}, nil, "setScreen", params{"brightness": 101.0}, home.ReasonBadParams},
		{"level that is no number", home.Options{}, nil, "setVolume", params{"level": "loud"}, home.ReasonBadParams},
		{"mute that is no flag", home.Options{}, nil, "setVolume", params{"level": 10.0, "mute": "yes"}, home.ReasonBadParams},
		{"on that is no flag", home.Options{}, nil, "setScreen", params{"brightness": 10.0, "on": "yes"}, home.ReasonBadParams},
		{"duration", home.Options{}, nil, "startBasicAirClear", params{"duration_min": 0.0}, home.ReasonBadParams},
		{"mode", home.Options{}, nil, "startBasicAirClear", params{"mode": "spot"}, home.ReasonBadParams},
		{"airflow", home.Options{}, nil, "startBasicAirClear", params{"airflow": "storm"}, home.ReasonBadParams},
		{"night without on", home.Options{}, nil, "setNightMode", nil, home.ReasonBadParams},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.opt)
			if tc.before != nil {
				tc.before(r)
				r.run(time.Second)
			}
			a := r.invoke("b", tc.method, tc.params)
			if a.Reason != tc.want || a.Accepted != (tc.want == "") {
				t.Fatalf("%+v, want %q", a, tc.want)
			}
			refused := slices.ContainsFunc(r.log, func(e home.Entry) bool {
				return e.Kind == home.KindRefused && e.TaskID == "b" && e.Reason == tc.want
			})
			if refused != (tc.want != "") {
				t.Fatalf("the log tells another story: %+v", r.log)
			}
			want := a
			if a.Accepted {
				want = home.Answer{Reason: home.ReasonTaskKnown}
			}
			if again := r.invoke("b", tc.method, tc.params); again != want {
				t.Fatalf("the same task id got %+v, before %+v", again, a)
			}
		})
	}
}
