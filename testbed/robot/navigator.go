package robot

import (
	"slices"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/home"
)

// navigator is com.acme.Navigator1: goals, to which its caller gives a reference of his own. Verdicts and states are structs, numbers
// stand for words.
type navigator struct{ *acme }

// verdict is the struct (us): 0 is yes, all else a no with its word.
type verdict struct {
	Code uint32
	Why  string
}

// goalState is the struct (is): one of goalStates, and why.
type goalState struct {
	State int32
	Why   string
}

// The numbers of a goal's state.
var goalStates = []string{"unknown", "underway", "held", "reached", "aborted", "failed"}

// The numbers in Motion and Body, by the event that they tell.
var (
	motions = []string{"", "movement.started", "movement.arrived", "movement.stopped", "movement.failed", "station.docked", "station.undocked"}
	bodies  = []string{"", "safety.stopped", "safety.released", "robot.fault", "robot.lifted", "robot.placed", "external_start", "external_stop"}
	ends    = []string{string(core.OutcomeDone), string(core.OutcomeCancelled), string(core.OutcomeFailed)}
)

func newNavigator(a *acme) (speaker, error) {
	n := &navigator{a}
	return n, a.export(n, map[string]any{"Drive": int32(0), "Guard": int32(0), "OnDock": false},
		"GoalEnded", "GoalHeld", "GoalProgress", "Motion", "Body", "Located")
}

// NavigateTo drives to a place.
func (n *navigator) NavigateTo(ref, place string, _ map[string]godbus.Variant) (verdict, *godbus.Error) {
	return n.begin(ref, "setMoveTo", core.Values{"position": place})
}

// GoHome drives to the station and docks.
func (n *navigator) GoHome(ref string) (verdict, *godbus.Error) {
	return n.begin(ref, "returnToStation", nil)
}

// Nudge moves a little: options has cm or deg.
func (n *navigator) Nudge(ref string, direction int32, options map[string]godbus.Variant) (verdict, *godbus.Error) {
	params := core.Values{"direction": word([]string{"forward", "backward", "turn_left", "turn_right"}, direction)}
	for option, param := range map[string]string{"cm": "distance_cm", "deg": "angle_deg"} {
		var x uint32
		if v, ok := options[option]; ok && v.Store(&x) == nil {
			params[param] = float64(x)
		}
	}
	return n.begin(ref, "setMoving", params)
}

// Halt stops whatever turns the wheels. It is a goal too: reached when they rest.
func (n *navigator) Halt(ref string) (verdict, *godbus.Error) {
	return n.begin(ref, "stopMovement", nil)
}

func (n *navigator) begin(ref string, method catalog.Method, params core.Values) (verdict, *godbus.Error) {
	a, fail := n.start(core.TaskID(ref), method, params)
	if a.Accepted {
		return verdict{}, fail
	}
	return verdict{1, string(a.Reason)}, fail
}

// Abort gives a goal up. That it has ended is told by GoalEnded.
func (n *navigator) Abort(ref string) *godbus.Error {
	return n.steer(func(f func(core.StopAnswered)) { n.Cancel(core.Stop{Task: core.TaskID(ref)}, f) })
}

// Hold holds a goal, or lets it go on. That it does is told by GoalHeld.
func (n *navigator) Hold(ref string, on bool) *godbus.Error {
	if on {
		return n.steer(func(f func(core.StopAnswered)) { n.Pause(core.TaskID(ref), f) })
	}
	return n.steer(func(f func(core.StopAnswered)) { n.Resume(core.TaskID(ref), f) })
}

func (a *acme) steer(ask func(func(core.StopAnswered))) *godbus.Error {
	ans, fail := answerOf(a, ask)
	if fail == nil && !ans.Accepted {
		fail = acmeError("NotNow", string(ans.Reason))
	}
	return fail
}

// Goal tells how a goal stands. One that it does not know is refused from then on.
func (n *navigator) Goal(ref string) (goalState, *godbus.Error) {
	st, fail := answerOf(n.acme, func(f func(core.TaskStatus)) { n.Query(core.TaskID(ref), f) })
	return stateOf(st), fail
}

// stateOf puts a status into the maker's words.
func stateOf(st core.TaskStatus) goalState {
	switch {
	case st.Known == core.KnownRunning && st.Paused:
		return goalState{State: code(goalStates, "held")}
	case st.Known == core.KnownRunning:
		return goalState{State: code(goalStates, "underway")}
	case st.Ended != nil:
		return goalState{code(goalStates, "reached") + code(ends, string(st.Ended.Outcome)), string(st.Ended.Reason)}
	}
	return goalState{}
}

// Where tells the room, in a dictionary; an empty one where the robot does not know.
func (n *navigator) Where() (map[string]godbus.Variant, *godbus.Error) {
	values, fail := answerOf(n.acme, func(f func([]core.ContextValue)) { n.Read([]catalog.ContextKey{"movement.location"}, f) })
	if fail != nil || len(values) == 0 {
		return map[string]godbus.Variant{}, fail
	}
	return placeOf(values[0]), nil
}

func placeOf(v core.ContextValue) map[string]godbus.Variant {
	if !v.Available {
		return map[string]godbus.Variant{}
	}
	return map[string]godbus.Variant{"room": godbus.MakeVariant(v.Value), "floor": godbus.MakeVariant(byte(1))}
}

// Event tells what wheels and body did.
func (n *navigator) Event(ev core.Observed) error {
	if what := code(motions, string(ev.Event)); what > 0 {
		return n.emit("Motion", what, string(ev.Task), textIn(ev.Data, "room_id"), string(ev.Reason))
	}
	what := code(bodies, string(ev.Event))
	if what <= 0 {
		return nil // a progress: GoalProgress tells it
	}
	detail := textIn(ev.Data, "code") + textIn(ev.Data, "room_id") // an event has one of them
	return n.emit("Body", what, detail, textIn(ev.Data, "severity"), string(ev.Reason))
}

// Context tells the properties, and the place by a signal.
func (n *navigator) Context(values []core.ContextValue) error {
	for _, v := range values {
		switch v.Key {
		case "movement.location":
			if err := n.emit("Located", placeOf(v)); err != nil {
				return err
			}
		case "movement.is_moving":
			n.set("Drive", code([]string{"false", "true"}, boolText(v.Value)))
		case "safety.state":
			n.set("Guard", code([]string{home.SafetyOK, home.SafetyStopped}, v.Value))
		case "station.docked":
			n.set("OnDock", v.Value == true)
		}
	}
	return nil
}

func boolText(v any) string {
	if v == true {
		return "true"
	}
	return "false"
}

// Progress tells how much of a goal is done, from 0 to 1.
func (n *navigator) Progress(p core.TaskProgress) error {
	return n.emit("GoalProgress", string(p.Task), p.Percent/100, p.Note)
}

// Paused and Resumed tell that a goal rests, or does not.
func (n *navigator) Paused(task core.TaskID) error  { return n.emit("GoalHeld", string(task), true) }
func (n *navigator) Resumed(task core.TaskID) error { return n.emit("GoalHeld", string(task), false) }

// Result tells how a goal ended.
func (n *navigator) Result(e core.TaskEnded) error {
	return n.emit("GoalEnded", string(e.Task), int32(slices.Index(ends, string(e.Outcome))), string(e.Reason))
}
