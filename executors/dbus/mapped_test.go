package dbus_test

import (
	"maps"
	"strings"
	"testing"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

const (
	chassisName  = "com.acme.Chassis"
	chassisPath  = godbus.ObjectPath("/com/acme/Chassis")
	chassisIface = "com.acme.Chassis1"
	lampIface    = "com.acme.Lamp1"
)

// place is a struct (sd) of the vendor: a room, and how well it knows.
type place struct {
	Room string
	Sure float64
}

// jobState is a struct (ss).
type jobState struct{ State, Detail string }

// newChassis is the vendor's motion service, which has jobs with numbers of its own. It is not on the bus yet.
func newChassis(t *testing.T, d *daemon) *vendor {
	t.Helper()
	return &vendor{t: t, conn: connect(t, d), name: chassisName, path: chassisPath,
		props: map[string]any{chassisIface + ".State": int32(0), "com.acme.Power1.Charge": 0.8}}
}

// start puts it on the bus with its methods, some of them changed.
func (v *vendor) start(change map[string]any) {
	v.t.Helper()
	methods := map[string]any{
		chassisIface + ".GoTo": func(to string, speed float64) (uint32, *godbus.Error) {
			v.note("goto:%s:%v", to, speed)
			return 7, nil
		},
		chassisIface + ".Abort": func(job uint32) (bool, *godbus.Error) {
			v.note("abort:%d", job)
			return true, nil
		},
		chassisIface + ".Hold": func(job uint32, on bool) *godbus.Error {
			v.note("hold:%d:%v", job, on)
			return nil
		},
		chassisIface + ".Job": func(job uint32) (jobState, *godbus.Error) {
			v.note("job:%d", job)
			return jobState{"RUN", ""}, nil
		},
		chassisIface + ".Stop": func() *godbus.Error {
			v.note("stop")
			return nil
		},
		chassisIface + ".WhereAmI": func() (map[string]godbus.Variant, *godbus.Error) {
			return map[string]godbus.Variant{"room": godbus.MakeVariant("study"), "floor": godbus.MakeVariant(1)}, nil
		},
	}
	maps.Copy(methods, change)
	v.export(chassisPath, methods)
	v.take()
}

func startChassis(t *testing.T, d *daemon, change map[string]any) *vendor {
	t.Helper()
	v := newChassis(t, d)
	v.start(change)
	return v
}

// known collects the last value of each key that was heard.
func known(r *rig) map[catalog.ContextKey]core.ContextValue {
	out := map[catalog.ContextKey]core.ContextValue{}
	for _, ev := range r.events() {
		if c, ok := ev.(core.ContextRead); ok {
			for _, v := range c.Values {
				out[v.Key] = v
			}
		}
	}
	return out
}

func exampleCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	services, operations := example(t)
	return catalogOf(t, services, operations)
}

func goTo(task string) core.Dispatch {
	return core.Dispatch{Task: core.TaskID(task), Service: "chassis", Method: "setMoveTo", Params: core.Values{"position": "kitchen"}}
}

// TestTheExampleOfTheGuide carries a motion through its whole life over a service that was never made for us.
func TestTheExampleOfTheGuide(t *testing.T) {
	d := startDaemon(t)
	c := exampleCatalog(t)
	r := newMapRig(t, d, c, 0)
	v := startChassis(t, d, nil)
	u := up(r, 1)
	if u.Service != "chassis" || len(u.Methods) != 2 || len(u.Keys) != 3 {
		t.Fatalf("up %+v", u)
	}
	read := heard[core.ContextRead](r, 1, nil)
	if read.Source != "chassis" || len(read.Values) != 3 || read.Values[0].Value != 80.0 || read.Values[1].Value != false || read.Values[2].Value != "study" {
		t.Errorf("read at first: %+v", read)
	}
	r.reg.Carry(goTo("t-1"))
	if a := heard[core.TaskAnswered](r, 1, nil); !a.Accepted || a.Task != "t-1" || a.Instance != u.Instance {
		t.Errorf("answer %+v", a)
	}
	if !strings.Contains(v.did(), "goto:kitchen:0.5") {
		t.Errorf("the vendor did %s", v.did())
	}
	v.change(chassisIface, "State", int32(1))
	v.emit(chassisPath, chassisIface+".JobProgress", uint32(7), 0.25)
	if p := heard[core.TaskProgress](r, 1, nil); p.Task != "t-1" || p.Percent != 25 {
		t.Errorf("progress %+v", p)
	}
	r.reg.Carry(core.Pause{Task: "t-1", Service: "chassis"})
	if a := heard[core.StopAnswered](r, 1, nil); !a.Accepted || a.To != core.ToPause {
		t.Errorf("pause %+v", a)
	}
	v.emit(chassisPath, chassisIface+".JobHeld", uint32(7), true)
	if st := heard[core.TaskStatus](r, 1, nil); !st.Paused || st.Task != "t-1" || st.Source != "chassis" {
		t.Errorf("held %+v", st)
	}
	r.reg.Carry(core.Resume{Task: "t-1", Service: "chassis"})
	heard[core.StopAnswered](r, 2, nil)
	v.emit(chassisPath, chassisIface+".JobHeld", uint32(7), false)
	if st := heard[core.TaskStatus](r, 2, nil); !st.Resumed || st.Paused {
		t.Errorf("resumed %+v", st)
	}
	r.reg.Carry(core.Query{Task: "t-1", Service: "chassis", Method: "setMoveTo"})
	if st := heard[core.TaskStatus](r, 3, nil); st.Known != core.KnownRunning || st.Paused {
		t.Errorf("status %+v", st)
	}
	r.reg.Carry(core.Stop{Task: "t-1", Service: "chassis", Method: "setMoveTo"})
	heard[core.StopAnswered](r, 3, func(a core.StopAnswered) bool { return a.Accepted })
	v.emit(chassisPath, chassisIface+".JobDone", uint32(7), int32(0), place{"kitchen", 0.9})
	if o := heard[core.Observed](r, 1, nil); o.Event != "movement.arrived" || o.Task != "t-1" || o.Data["room_id"] != "kitchen" || o.Source != "chassis" {
		t.Errorf("event %+v", o)
	}
	if e := heard[core.TaskEnded](r, 1, nil); e.Task != "t-1" || e.Outcome != core.OutcomeDone || e.Source != "chassis" {
		t.Errorf("end %+v", e)
	}
	if got := known(r); got["movement.location"].Value != "kitchen" || got["movement.is_moving"].Value != true {
		t.Errorf("context %+v", got)
	}
	if did := v.did(); !strings.Contains(did, "hold:7:true hold:7:false job:7 abort:7") {
		t.Errorf("the vendor did %s", did)
	}
	r.reg.Carry(core.Query{Task: "t-1", Service: "chassis", Method: "setMoveTo"})
	if st := heard[core.TaskStatus](r, 4, nil); st.Known != core.KnownEnded || st.Ended.Outcome != core.OutcomeDone || st.Event == nil || st.Event.Event != "movement.arrived" {
		t.Errorf("status of what has ended %+v", st)
	}
}
