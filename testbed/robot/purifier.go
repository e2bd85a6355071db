package robot

import (
	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
)

// purifier is com.acme.Purifier1: jobs with numbers of its own, which it gives in its replies.
type purifier struct{ *acme }

// The numbers of its words.
var (
	programs = []string{"fixed", "all", "zone"}
	fans     = []string{"auto", "low", "medium", "high", "turbo"}
	fanTells = []string{"", "cleaning.started", "cleaning.completed", "cleaning.stopped", "cleaning.failed", "external_start", "external_stop"}
)

func newPurifier(a *acme) (speaker, error) {
	p := &purifier{a}
	return p, a.export(p, map[string]any{"Running": false}, "JobEnded", "JobHeld", "JobProgress", "Fan")
}

// Start begins a job: options has minutes, program and fan.
func (p *purifier) Start(options map[string]godbus.Variant) (uint32, *godbus.Error) {
	params := core.Values{}
	var minutes uint32
	if v, ok := options["minutes"]; ok && v.Store(&minutes) == nil {
		params["duration_min"] = float64(minutes)
	}
	for option, of := range map[string]struct {
		param string
		words []string
	}{"program": {"mode", programs}, "fan": {"airflow", fans}} {
		var n int32
		if v, ok := options[option]; ok && v.Store(&n) == nil {
			params[of.param] = word(of.words, n)
		}
	}
	id, n := newJob()
	a, fail := p.start(id, "startBasicAirClear", params)
	if fail == nil && !a.Accepted {
		fail = refusal(a.Reason)
	}
	return n, fail
}

// End gives a job up. That it has ended is told by JobEnded.
func (p *purifier) End(job uint32) *godbus.Error {
	return p.steer(func(f func(core.StopAnswered)) { p.Cancel(core.Stop{Task: jobID(job)}, f) })
}

// Hold holds a job, or lets it go on.
func (p *purifier) Hold(job uint32, on bool) *godbus.Error {
	if on {
		return p.steer(func(f func(core.StopAnswered)) { p.Pause(jobID(job), f) })
	}
	return p.steer(func(f func(core.StopAnswered)) { p.Resume(jobID(job), f) })
}

// Job tells how a job stands.
func (p *purifier) Job(job uint32) (goalState, *godbus.Error) {
	st, fail := answerOf(p.acme, func(f func(core.TaskStatus)) { p.Query(jobID(job), f) })
	if fail == nil && st.Known == core.KnownNot {
		fail = acmeError("NoSuchJob", "")
	}
	return stateOf(st), fail
}

// AllOff stops the fan, whoever turned it on, and answers when it stands still.
func (p *purifier) AllOff() (bool, *godbus.Error) {
	_, fail := p.whole("stopCleaning")
	return fail == nil, fail
}

// Event tells what the fan did.
func (p *purifier) Event(ev core.Observed) error {
	what := code(fanTells, string(ev.Event))
	if what <= 0 {
		return nil // a progress: JobProgress tells it
	}
	return p.emit("Fan", what, jobOf(ev.Task), code(programs, ev.Data["mode"]), textIn(ev.Data, "code"), string(ev.Reason))
}

// Context tells whether the fan runs.
func (p *purifier) Context(values []core.ContextValue) error {
	for _, v := range values {
		p.set("Running", v.Value == true)
	}
	return nil
}

// Progress tells percents.
func (p *purifier) Progress(t core.TaskProgress) error {
	return p.emit("JobProgress", jobOf(t.Task), byte(t.Percent))
}

// Paused and Resumed tell that a job rests, or does not.
func (p *purifier) Paused(task core.TaskID) error  { return p.emit("JobHeld", jobOf(task), true) }
func (p *purifier) Resumed(task core.TaskID) error { return p.emit("JobHeld", jobOf(task), false) }

// Result tells how a job ended.
func (p *purifier) Result(e core.TaskEnded) error {
	if p.answered(e) {
		return nil
	}
	return p.emit("JobEnded", jobOf(e.Task), code(ends, string(e.Outcome)), string(e.Reason))
}
