package core

import (
	"cmp"
	"maps"
	"slices"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// State is all that the core knows. It is owned by one goroutine and changed only by [State.With]; Reduce reads it. The maps of
// indices (active, order) are derived and never stored.
type State struct {
	Device    Device
	Workflows map[WorkflowID]*Workflow // open ones and the latest closed ones; a *Workflow is immutable once it is here
	Known     map[catalog.ContextKey]Known
	Services  map[ServiceID]Service
	Templates map[WorkflowID]*Template // plans with a schedule; a *Template is immutable
	Tombs     map[WorkflowID]Reason    // cancelled, whether they ever were here or not
	Mouth     Mouth                    // what is said and shown on behalf of the agent; its queue is never written in place
	Sessions  map[TaskID]*Session      // of content: open ones, and the latest that have ended; a *Session is immutable
	Hold      bool                     // load and show: nothing is dispatched, and nothing counts as not answered

	cat     *catalog.Catalog
	order   []WorkflowID                  // open workflows by rank
	active  map[TaskID]WorkflowID         // attempts that hold something, or whose step may still take their evidence
	used    map[catalog.ResourceID]Sample // when a task last let go of it; memory only, like the readings that it dates
	foreign map[catalog.ResourceID]Sample // since when something else uses it; memory only
	gave    map[catalog.EventName]Sample  // when an event was last heard that no task of ours gave; memory only
	anchors int                           // workflows that wait for a run of other work
	closed  []WorkflowID                  // terminal workflows in memory, oldest first
}

// Device is the durable single row of the whole device.
type Device struct {
	Epoch       string  `json:"epoch"`
	StartNo     int64   `json:"start_no"`
	TaskNo      int64   `json:"task_no"`
	OutSeq      int64   `json:"out_seq"`
	AcceptNo    int64   `json:"accept_no"`
	CancelAllMS int64   `json:"cancel_all_ms,omitempty"` // planner time of the last cancel of all
	CancelAllAt Instant `json:"cancel_all_at,omitempty"` // of one that came while nobody knew the time; 0: there is none
	PlannerMS   int64   `json:"planner_ms,omitempty"`    // the planner's clock when it last answered a hello in this boot; 0: it has not
	PlannerAt   Instant `json:"planner_at,omitempty"`    // that moment
	StopBody    bool    `json:"stop_body,omitempty"`     // the store is new: whatever an earlier one had begun is to be stopped once
	StopTask    TaskID  `json:"stop_task,omitempty"`     // the call that does it, while it is not answered
	Holds       []Hold  `json:"holds,omitempty"`         // of everything, of experiences and of sessions
	Safety      Guarded `json:"safety,omitzero"`
	TierCap     Tier    `json:"tier_cap,omitempty"` // set from afar or at the robot: no goal has a higher tier; "": the setting alone bounds them
	NoGoals     bool    `json:"no_goals,omitempty"` // experiences were disabled: what comes is taken without its goal

	Consents []Consent `json:"consents,omitempty"` // what people have agreed to, oldest first; replaced, never written in place

	Modes []ModeChange `json:"modes,omitempty"` // the latest changes of the mode, oldest first; replaced, never written in place

	BootID string  `json:"boot_id,omitempty"` // of Boot below
	Boot   Instant `json:"boot,omitempty"`    // when it was last written
	WallMS int64   `json:"wall_ms,omitempty"` // at that moment, 0 where the clock was not trusted
	OffMS  int64   `json:"off_ms,omitempty"`  // wall clock when a time off began whose length is not known yet; 0: there is none
	OffAt  Instant `json:"off_at,omitempty"`  // the start that ended it

	Heard map[WorkflowID]int64 `json:"heard,omitempty"` // how far what came with a schedule was told; replaced, never written in place

	Controls map[string]int64 `json:"controls,omitempty"` // scope:target → highest sequence applied

	Ledger map[ServiceID]Disagreement `json:"ledger,omitempty"` // where a service's word was not borne out; replaced, never written in place
}

// Workflow is one plan and how far it is.
type Workflow struct {
	Plan     *Plan         `json:"-"`
	State    WorkflowState `json:"state"`
	Reason   Reason        `json:"reason,omitempty"`
	Rank     int64         `json:"rank"` // order of submission
	Hash     string        `json:"hash"` // content of the plan message, to tell a repeat from a re-use
	Accepted Instant       `json:"accepted"`
	AcceptMS int64         `json:"accept_ms,omitempty"` // wall clock at acceptance, for people
	Ended    Instant       `json:"ended,omitempty"`
	Deadline Instant       `json:"deadline,omitempty"`
	Cancel   Reason        `json:"cancel,omitempty"` // why it is cancelled, once it is
	Uplink   int64         `json:"uplink,omitempty"` // outbox rows made for it
	Holds    []Hold        `json:"holds,omitempty"`  // of this workflow and its steps; they end with it
	Gone     []GoneStep    `json:"gone,omitempty"`   // steps that revisions took out: their ids mean what they meant
	Steps    []Step        `json:"-"`
	Attempts []Attempt     `json:"-"`

	Goal        GoalStatus   `json:"goal,omitempty"`        // of the experience, as it was last told
	Escalations []Escalation `json:"escalations,omitempty"` // every question, in the order of opening; replaced, never written in place
	Asks        []Ask        `json:"asks,omitempty"`        // every question to the user, likewise

	Trace []TraceEntry `json:"-"` // how its goal was kept, oldest first, at most maxTrace; a row of its own; replaced, never written in place

	wake    Instant // the earliest moment at which time moves something here; 0: none
	wall    int64   // the earliest moment of the wall clock that a step waits for, Unix ms; 0: none
	anchors bool    // a step waits for a run of other work
	wants   bool    // a step waits for a resource, a service or the context
	keeps   bool    // see hasKeeps
	held    bool    // somebody holds it: see isHeld
	dirty   bool    // the head row differs from the stored one
	isNew   bool
	newer   bool // a revision was taken in: the plan's row differs too
	traced  bool // the trace's row differs
}

// Step is the changing part of a step; it has the same index as its spec.
type Step struct {
	ID         StepID    `json:"id"`
	State      StepState `json:"state"`
	Reason     Reason    `json:"reason,omitempty"`
	Detail     string    `json:"detail,omitempty"` // which key, which resource: for people
	Since      Instant   `json:"since"`
	Due        Instant   `json:"due,omitempty"`         // the end of what this state may last; 0: nothing bounds it
	RunDue     Instant   `json:"run_due,omitempty"`     // the end of the step timeout, kept while the outcome is unknown
	LeftMS     int64     `json:"left_ms,omitempty"`     // of the step timeout while the step is paused: then no clock of it runs
	Attempts   int64     `json:"attempts,omitempty"`    // dispatches so far
	TriedSince Instant   `json:"tried_since,omitempty"` // of the first dispatch in a row that nobody took; its bounds count from there
	Wish       Reason    `json:"wish,omitempty"`        // why its running task was to be stopped: it is never dispatched again
	Tries      int64     `json:"tries,omitempty"`       // that failed and were followed by a retry
	Task       TaskID    `json:"task,omitempty"`        // of the latest attempt
	Accepted   Instant   `json:"accepted,omitempty"`    // the executor accepted it
	Released   Instant   `json:"released,omitempty"`    // its wait_event was observed
	Done       Instant   `json:"done,omitempty"`        // the moment that delays count from
	Added      Instant   `json:"added,omitempty"`       // the revision that brought it was accepted; 0: it came with the plan
	Ended      Instant   `json:"ended,omitempty"`
	Output     Values    `json:"output,omitempty"`
	Effects    []Effect  `json:"effects,omitempty"`
	Op         *Facts    `json:"op,omitempty"`      // where inputs from other steps chose another variant than the spec's
	Late       bool      `json:"late,omitempty"`    // it took longer than expected: told once
	Early      bool      `json:"early,omitempty"`   // the user does not want it to wait for a late step, nor for what waits for that
	Checked    bool      `json:"checked,omitempty"` // whether the effects hold already was asked, and is not known to be so
	Bound      *Bound    `json:"bound,omitempty"`   // the run of other work that it waits for; replaced, never written in place
	Stop       string    `json:"stop,omitempty"`    // confirmed, unconfirmed: how a cancelled step ended
	Fate       *Fate     `json:"fate,omitempty"`    // of an exhausted step; replaced, never written in place

	recheck Instant // when to look at the context again; memory only
	dirty   bool
}

// Effect is one required effect of a step. ID "" is the proof of an operation that has no effect (done_evidence).
type Effect struct {
	ID       catalog.EffectID `json:"id,omitempty"`
	State    EffectState      `json:"state"`
	Evidence []Evidence       `json:"evidence,omitempty"`
	Kept     *Kept            `json:"kept,omitempty"` // where it has to be kept; replaced, never written in place
}

// Evidence is one thing that was accepted as proof, or, where Against is set, as its opposite.
type Evidence struct {
	Leaf      int                `json:"leaf"` // which leaf of the expression, in reading order
	Against   bool               `json:"against,omitempty"`
	Event     catalog.EventName  `json:"event,omitempty"`
	Key       catalog.ContextKey `json:"key,omitempty"`
	Value     condition.Value    `json:"value,omitempty"` // the context value, or the event's data
	Source    string             `json:"source"`
	Class     catalog.Class      `json:"class"`
	Seq       int64              `json:"seq"` // intake sequence
	At        Instant            `json:"at"`
	AgeMS     int64              `json:"age_ms"` // how old it was when it was accepted
	By        string             `json:"by"`     // correlation: task_id, window
	Recovered bool               `json:"recovered,omitempty"`
}

// Attempt is one dispatch of a step.
type Attempt struct {
	Task      TaskID               `json:"task"`
	Step      int                  `json:"step"`
	State     AttemptState         `json:"state"`
	Cloud     bool                 `json:"cloud,omitempty"`
	Service   ServiceID            `json:"service,omitempty"`
	Instance  string               `json:"instance,omitempty"`
	Seq       int64                `json:"seq"` // evidence must be younger than this
	At        Instant              `json:"at"`
	Args      Values               `json:"args,omitempty"` // where an input changed the spec's
	Resources []catalog.ResourceID `json:"resources,omitempty"`
	Disturbed bool                 `json:"disturbed,omitempty"` // something else used its resources meanwhile
	Recovered bool                 `json:"recovered,omitempty"` // its end was learnt by a Query, and no event of it
	Sealed    bool                 `json:"sealed,omitempty"`    // its executor will refuse it, should the call still be on its way
	NotRun    bool                 `json:"not_run,omitempty"`   // it surely did nothing: refused, never sent, or unknown to an executor that would know
	StopCalls int                  `json:"stop_calls,omitempty"`
	StopAt    Instant              `json:"stop_at,omitempty"`
	StopSeq   int64                `json:"stop_seq,omitempty"`
	Given     []Given              `json:"given,omitempty"` // events that others may wait for; replaced, never written in place
	Outcome   Outcome              `json:"outcome,omitempty"`
	EndReason Reason               `json:"end_reason,omitempty"`

	Pausing    PauseState `json:"pausing,omitempty"`
	PauseAt    Instant    `json:"pause_at,omitempty"`    // since when
	PauseSeq   int64      `json:"pause_seq,omitempty"`   // what confirms it must be younger
	PauseTaken bool       `json:"pause_taken,omitempty"` // the executor accepted the call; that alone is nothing
	PauseTold  bool       `json:"pause_told,omitempty"`  // it was the executor's word that confirmed the pause
	MayGoOn    bool       `json:"may_go_on,omitempty"`   // its executor has paused it, or said yes to that, and since then neither to a stop nor to going on: its rest is not its end
	Yielded    Instant    `json:"yielded,omitempty"`     // when it said yes to a stop while its rest could have been a pause

	next  Instant // when to stop again, or to look whether it is at rest; memory only
	dirty bool

	pauseNext Instant // when to ask again how its pause stands; memory only
}

// holds says whether the attempt still owns its resources.
func (a *Attempt) holds() bool { return a.State != Ended }

// Known is one context value with the samples that are equal to it, newest last.
type Known struct {
	Value     condition.Value
	Available bool
	Class     catalog.Class
	Source    string
	Samples   []Sample // of this very value; at most maxSamples
	Rival     *Rival   // what another source says of the same key
}

// Rival is the latest word of another source about a value.
type Rival struct {
	Source string
	Value  condition.Value
	At     Instant
}

// Sample is one reading.
type Sample struct {
	At  Instant
	Seq int64
}

// Service is an executor that is there.
type Service struct {
	Instance string
	Methods  []catalog.Method
	Since    Instant
}

// NewState makes an empty state over a catalog.
func NewState(cat *catalog.Catalog, dev Device) *State {
	if dev.Controls == nil {
		dev.Controls = map[string]int64{}
	}
	return &State{
		Device: dev, Workflows: map[WorkflowID]*Workflow{}, Known: map[catalog.ContextKey]Known{},
		Services: map[ServiceID]Service{}, Tombs: map[WorkflowID]Reason{}, cat: cat, active: map[TaskID]WorkflowID{}, used: map[catalog.ResourceID]Sample{}, foreign: map[catalog.ResourceID]Sample{},
	}
}

// Catalog is what the state's plans are grounded in.
func (s *State) Catalog() *catalog.Catalog { return s.cat }

// Adopt puts a workflow that was read from the store back into the state.
func (s *State) Adopt(wf *Workflow) { s.put(wf) }

// Open lists the open workflows by rank.
func (s *State) Open() []WorkflowID { return s.order }

// maxClosed bounds the terminal workflows kept in memory; older ones are in the store.
const maxClosed = 200

// With adopts a change that is durable. It changes s in place and returns it.
func (s *State) With(c Change) *State {
	s.Device = c.device
	for _, ev := range c.Aside {
		s.Drop(ev.Workflow)
	}
	for _, wf := range c.Workflows {
		s.put(wf)
	}
	for key := range c.lost {
		delete(s.Known, key)
	}
	maps.Copy(s.Known, c.known)
	maps.Copy(s.Services, c.services)
	for _, id := range c.gone {
		delete(s.Services, id)
	}
	maps.Copy(s.Tombs, c.tombs)
	for id, t := range c.templates {
		if t == nil {
			delete(s.Templates, id)
		} else {
			s.AdoptTemplate(t)
		}
	}
	for id, ses := range c.sessions {
		if ses == nil {
			delete(s.Sessions, id)
		} else {
			s.AdoptSession(ses)
		}
	}
	if c.mouth != nil {
		s.Mouth = *c.mouth
	}
	maps.Copy(s.used, c.used)
	maps.Copy(s.foreign, c.foreign)
	if len(c.gave) > 0 {
		if s.gave == nil {
			s.gave = map[catalog.EventName]Sample{}
		}
		maps.Copy(s.gave, c.gave)
	}
	if c.forget {
		clear(s.Known)
		maps.Copy(s.Known, c.known)
	}
	return s
}

func (s *State) put(wf *Workflow) {
	id := wf.Plan.Workflow
	if old := s.Workflows[id]; old != nil {
		if old.anchors {
			s.anchors--
		}
		if old.Plan.Priority != wf.Plan.Priority { // a revision moved it in the order
			s.order = slices.DeleteFunc(s.order, func(o WorkflowID) bool { return o == id })
		}
		for i := range old.Attempts {
			delete(s.active, old.Attempts[i].Task)
		}
	}
	for i := range wf.Steps {
		wf.Steps[i].dirty = false
	}
	for i := range wf.Attempts {
		a := &wf.Attempts[i]
		a.dirty = false
		if wf.listens(a) {
			s.active[a.Task] = id
		}
	}
	wf.dirty, wf.isNew, wf.newer, wf.traced = false, false, false, false
	wf.wake, wf.wall, wf.wants, wf.keeps = wf.nextWake(), wf.nextWall(), wf.hasWants(), wf.hasKeeps()
	if wf.anchors = wf.waitsForAnchor(); wf.anchors {
		s.anchors++
	}
	s.Workflows[id] = wf
	s.rank(wf)
}

// rank keeps the order of open workflows, and forgets the oldest closed ones that hold nothing any more.
func (s *State) rank(wf *Workflow) {
	id := wf.Plan.Workflow
	at, found := slices.BinarySearchFunc(s.order, wf, func(o WorkflowID, w *Workflow) int { return byRank(s.Workflows[o], w) })
	switch {
	case !wf.State.Terminal() && !found:
		s.order = slices.Insert(s.order, at, id)
	case wf.State.Terminal() && found:
		s.order = slices.Delete(s.order, at, at+1)
		s.closed = append(s.closed, id)
	case wf.State.Terminal() && !slices.Contains(s.closed, id):
		s.closed = append(s.closed, id)
	}
	for len(s.closed) > maxClosed {
		i := slices.IndexFunc(s.closed, func(id WorkflowID) bool { return !s.Workflows[id].HoldsAny() })
		if i < 0 {
			return
		}
		delete(s.Workflows, s.closed[i])
		s.closed = slices.Delete(s.closed, i, i+1)
	}
}

func byRank(a, b *Workflow) int {
	return cmp.Or(cmp.Compare(a.Plan.Priority.rank(), b.Plan.Priority.rank()), cmp.Compare(a.Rank, b.Rank))
}

// listens says whether events may still concern the attempt: it holds something, or its step waits for its evidence.
func (wf *Workflow) listens(a *Attempt) bool {
	st := &wf.Steps[a.Step]
	return a.holds() || (st.Task == a.Task && !st.State.Terminal())
}

// HoldsAny says whether a task of it still holds something.
func (wf *Workflow) HoldsAny() bool {
	return slices.ContainsFunc(wf.Attempts, func(a Attempt) bool { return a.holds() })
}

func (wf *Workflow) hasWants() bool {
	return slices.ContainsFunc(wf.Steps, func(st Step) bool { return st.State == Queued || st.State == Blocked && !st.asked() && !st.toUser() })
}

// nextWake is the earliest moment at which time alone moves something.
func (wf *Workflow) nextWake() Instant {
	var t Instant
	early := func(x Instant) {
		if x != 0 && (t == 0 || x < t) {
			t = x
		}
	}
	if !wf.State.Terminal() || wf.HoldsAny() {
		early(nextRelease(wf.Holds))
	}
	if !wf.State.Terminal() {
		if wf.Cancel == ReasonNone {
			early(wf.Deadline)
		}
		if a := wf.lateAsk(); a != nil {
			early(a.Due)
		}
		for i := range wf.Steps {
			if !wf.Steps[i].State.Terminal() {
				early(wf.Steps[i].Due)
				early(wf.Steps[i].recheck)
				early(wf.lateAt(i))
			} else if len(wf.Plan.Steps[i].Keeps) > 0 {
				early(wf.Steps[i].nextKept())
			}
		}
	}
	for i := range wf.Attempts {
		if wf.Attempts[i].holds() {
			early(wf.Attempts[i].next)
			early(wf.Attempts[i].pauseNext)
		}
	}
	return t
}

// NextWake is the moment of the next Tick; 0: none is needed.
func (s *State) NextWake() Instant {
	t := nextRelease(s.Device.Holds)
	if at := s.Mouth.wake(); at != 0 {
		t = earlier(t, at)
	}
	for _, ses := range s.Sessions {
		if at := ses.due(); at != 0 {
			t = earlier(t, at)
		}
	}
	for _, wf := range s.Workflows {
		if wf.wake != 0 && (t == 0 || wf.wake < t) {
			t = wf.wake
		}
	}
	return t
}

// attemptOf finds an attempt by its task id: the workflow and the index, or nil.
func (wf *Workflow) attempt(task TaskID) *Attempt {
	for i := range wf.Attempts {
		if wf.Attempts[i].Task == task {
			return &wf.Attempts[i]
		}
	}
	return nil
}

// clone copies what a reduction may change. Inner slices (effects, evidence) are replaced, never written in place.
func (wf *Workflow) clone() *Workflow {
	c := *wf
	c.Steps = slices.Clone(wf.Steps)
	c.Attempts = slices.Clone(wf.Attempts)
	return &c
}
