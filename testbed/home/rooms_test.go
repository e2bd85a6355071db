package home_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"deviceagent/testbed/home"
)

func TestCleaningLowersTheDustOfItsRoomOnly(t *testing.T) {
	r := newRig(t, home.Options{Start: "kitchen", Air: map[string]float64{"kitchen": 80, "study": 80}})
	r.wantValue("air.grade", "very_bad")
	r.invoke("t", "startBasicAirClear", params{"duration_min": 20.0})
	r.run(21 * time.Minute)
	r.wantResults("t", "done:")
	// 200 µg/m³ an hour for 20 minutes; the study's 80 lies above the level that dust rises to by itself.
	r.wantValue("air.pm25", 13.0)
	r.wantValue("air.grade", "good")
	r.home.MoveByHand(r.now, "study")
	r.run(time.Minute)
	r.wantValue("air.pm25", 80.0)
}

func TestDustRisesSlowlyToItsCeiling(t *testing.T) {
	r := newRig(t, home.Options{Start: "kitchen"})
	r.run(time.Hour)
	r.wantValue("air.pm25", 18.0)
	r.run(12 * time.Hour)
	r.wantValue("air.pm25", 30.0)
}

func TestBatteryDrainsAndCharges(t *testing.T) {
	r := newRig(t, home.Options{Battery: 50})
	r.run(30 * time.Minute)
	r.wantValue("battery.level", 75.0)
	r.wantValue("battery.charging", true)
	r.run(31 * time.Minute)
	r.wantValue("battery.level", 100.0)
	r.wantValue("battery.charging", false)
	r.home.MoveByHand(r.now, "study")
	r.run(time.Hour)
	r.wantValue("battery.level", 88.0) // 12 an hour
	r.invoke("t", "startBasicAirClear", params{"duration_min": 60.0})
	r.run(time.Hour)
	r.wantValue("battery.level", 51.0) // 12 and 25 an hour
}

func TestPausedCleaningKeepsItsTime(t *testing.T) {
	r := newRig(t, home.Options{Start: "kitchen"})
	r.invoke("t", "startBasicAirClear", params{"duration_min": 2.0})
	r.run(61 * time.Second)
	r.home.Pause(r.now, "t")
	r.run(time.Hour)
	r.wantValue("cleaning.is_running", false)
	r.home.Resume(r.now, "t")
	r.run(59 * time.Second)
	r.wantValue("cleaning.is_running", true)
	r.run(2 * time.Second)
	r.wantResults("t", "done:")
}

func TestDrivingCleanToursAndStopsAsOne(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(*rig)
		want string
	}{
		{"to its end", func(*rig) {}, "done:"},
		{"its wheels stopped", func(r *rig) { r.invoke("s", "stopMovement", nil) }, "cancelled:stopped"},
		{"its fan stopped", func(r *rig) { r.invoke("s", "stopCleaning", nil) }, "cancelled:stopped"},
		{"cancelled", func(r *rig) { r.home.Cancel(r.now, "t") }, "cancelled:"},
		{"paused and resumed", func(r *rig) { r.home.Pause(r.now, "t"); r.run(time.Minute); r.home.Resume(r.now, "t") }, "done:"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, home.Options{Start: "living_room"})
			r.invoke("t", "startBasicAirClear", params{"mode": "all", "duration_min": 18.0})
			r.run(5 * time.Minute)
			r.wantValue("movement.is_moving", true)
			if r.value("movement.location") == "living_room" {
				t.Fatal("it does not tour")
			}
			tc.do(r)
			r.run(30 * time.Minute)
			r.wantResults("t", tc.want)
			r.wantValue("movement.is_moving", false)
			r.wantValue("cleaning.is_running", false)
			if m := home.Movements(r.log); len(m) != 1 || !m[0].Ended || m[0].Method != "startBasicAirClear" {
				t.Fatalf("%+v", m)
			}
			if faults := home.CheckLog(r.log); len(faults) > 0 {
				t.Fatal(faults)
			}
		})
	}
}

func TestStopOfAStuckFanWaitsForIt(t *testing.T) {
	r := newRig(t, home.Options{Start: "kitchen", Faults: home.Faults{Method: map[string]home.Fault{"startBasicAirClear": {Stuck: true}}}})
	r.invoke("t", "startBasicAirClear", nil)
	r.run(time.Minute)
	r.invoke("s", "stopCleaning", nil)
	r.run(time.Minute)
	r.wantValue("cleaning.is_running", true)
	r.wantResults("s")
	r.home.Press(r.now, "stop")
	r.run(time.Minute)
	r.wantResults("s", "done:")
}

func TestOwnStopButtonOfATasksCleaning(t *testing.T) {
	r := newRig(t, home.Options{Start: "kitchen"})
	r.invoke("t", "startBasicAirClear", nil)
	r.run(time.Minute)
	r.home.Press(r.now, "clean_stop")
	r.run(time.Second)
	r.wantResults("t", "cancelled:external_stop")
	if !r.saw("cleaning.stopped", "t") || !r.saw("external_stop", "") {
		t.Fatalf("said %q", r.events())
	}
}

func TestModesBringBackWhatTheyChanged(t *testing.T) {
	r := newRig(t, home.Options{})
	r.invoke("a", "setNightMode", params{"on": true})
	r.run(time.Second)
	r.wantValue("display.brightness", 10.0)
	r.wantValue("sound.volume", 15.0)
	r.wantValue("mode.night", true)
	r.invoke("b", "setNightMode", params{"on": false})
	r.run(time.Second)
	r.wantValue("display.brightness", 80.0)
	r.wantValue("sound.volume", 50.0)
	r.invoke("c", "setMannerMode", params{"on": true})
	r.run(time.Second)
	r.wantValue("sound.muted", true)
	r.invoke("d", "setMannerMode", params{"on": false})
	r.run(time.Second)
	r.wantValue("sound.muted", false)
	r.invoke("e", "setScreen", params{"on": false})
	r.run(time.Second)
	r.wantValue("display.brightness", 0.0)
}

func TestSpeechIsInterrupted(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(*rig)
		want []string
	}{
		{"by stopTts", func(r *rig) { r.invoke("s", "stopTts", nil) }, []string{"cancelled:stopped"}},
		{"by cancel", func(r *rig) { r.home.Cancel(r.now, "t") }, []string{"cancelled:"}},
		{"not by a voice alone", func(r *rig) { r.home.Say(r.now, "잠깐만") }, []string{"done:"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, home.Options{})
			r.invoke("t", "setLlmTts", params{"text": strings.Repeat("가", 100), "session_id": "quiz"})
			r.run(2 * time.Second)
			r.wantValue("voice.state", "speaking")
			tc.do(r)
			r.run(time.Minute)
			r.wantResults("t", tc.want...)
			spoken := slices.ContainsFunc(r.log, func(e home.Entry) bool { return e.Kind == home.KindSpoken })
			if spoken != (tc.want[0] == "done:") {
				t.Fatalf("spoken %v", spoken)
			}
			if r.saw("voice.interrupted", "") != (tc.name == "not by a voice alone") {
				t.Fatalf("said %q", r.events())
			}
		})
	}
}

func TestVoiceStopIsReportedAsAUsersStop(t *testing.T) {
	r := newRig(t, home.Options{})
	r.home.Say(r.now, "날씨 어때")
	r.run(time.Second)
	if r.saw("pui.cancelled", "") {
		t.Fatal("a question was taken for a stop")
	}
	r.wantValue("voice.state", "listening")
	r.home.Say(r.now, "멈춰!")
	r.run(9 * time.Second)
	if !r.saw("pui.cancelled", "") || !r.saw("voice.session_ended", "") {
		t.Fatalf("said %q", r.events())
	}
	r.wantValue("voice.state", "idle")
}

func TestPeopleAnswerAndConsent(t *testing.T) {
	r := newRig(t, home.Options{})
	r.home.Answer(0, "yes")
	r.home.Consent(0, "vital", "granted")
	if r.home.Consent(0, "vital", "eaten") || r.home.CompleteVital(0) {
		t.Fatal("nonsense was taken")
	}
	r.run(0)
	if !r.saw("user.answered", "") || !r.saw("consent.granted", "") {
		t.Fatalf("said %q", r.events())
	}
}

func TestUnknownAndUnavailableValues(t *testing.T) {
	r := newRig(t, home.Options{Faults: home.Faults{NoReading: true}})
	got := r.home.Read([]string{"air.pm25", "no.such", "battery.level"})
	if got[0].Available || got[1].Available || !got[2].Available || got[1].Key != "no.such" {
		t.Fatalf("%+v", got)
	}
	if n := len(r.home.Snapshot()); n != len(home.Keys()) {
		t.Fatalf("%d values of %d keys", n, len(home.Keys()))
	}
}

func TestLogIsReadBackAndACutLineIsLeftOut(t *testing.T) {
	var b bytes.Buffer
	log := home.NewLog(&b)
	h := home.New(home.Flat(), home.Options{Start: "living_room", Log: log.Add})
	h.Invoke(0, "t", "setMoveTo", kitchen)
	h.Advance(time.Minute)
	if err := log.Err(); err != nil {
		t.Fatal(err)
	}
	entries, err := home.ReadLog(bytes.NewReader(b.Bytes()))
	if err != nil || len(home.Movements(entries)) != 1 {
		t.Fatalf("%v, %+v", err, entries)
	}
	cut, err := home.ReadLog(bytes.NewReader(b.Bytes()[:b.Len()-3]))
	if err != nil || len(cut) != len(entries)-1 {
		t.Fatalf("%v, %d entries of %d", err, len(cut), len(entries))
	}
	if _, err := home.ReadLog(strings.NewReader("nonsense\n")); err == nil {
		t.Fatal("nonsense was read")
	}
}

func TestCheckLogFindsWhatCannotBe(t *testing.T) {
	start := func(id string) home.Entry { return home.Entry{Kind: home.KindMotionStart, TaskID: id} }
	end := func(id string) home.Entry { return home.Entry{Kind: home.KindMotionEnd, TaskID: id} }
	for _, tc := range []struct {
		name string
		log  []home.Entry
		want int
	}{
		{"one after the other", []home.Entry{start("a"), end("a"), start("b"), end("b")}, 0},
		{"two at once", []home.Entry{start("a"), start("b")}, 1},
		{"one task twice", []home.Entry{start("a"), end("a"), start("a"), end("a")}, 1},
		{"own button twice", []home.Entry{start(""), end(""), start(""), end("")}, 0},
		{"end without a start", []home.Entry{end("a")}, 1},
		{"two results", []home.Entry{{Kind: home.KindResult, TaskID: "a"}, {Kind: home.KindResult, TaskID: "a"}}, 1},
	} {
		if got := home.CheckLog(tc.log); len(got) != tc.want {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}

func TestRouteIsTheShortestWay(t *testing.T) {
	p := home.Flat()
	if got := p.Route("dock", "study"); !slices.Equal(got, []string{"dock", "living_room", "kitchen", "study"}) {
		t.Error(got)
	}
	if got := p.Route("kitchen", "balcony"); got != nil {
		t.Error(got)
	}
	if got := p.Route("kitchen", "kitchen"); len(got) != 1 {
		t.Error(got)
	}
}
