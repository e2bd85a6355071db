// Package home is the simulated home: rooms with doors and dust, and one robot in it that moves, cleans, measures, speaks and is
// pressed, pushed and spoken to by people. It is a pure model: it reads no clock and starts no goroutine, every call names the
// simulated moment, and the same calls give the same emissions and the same log. It behaves as the robot's own firmware: it guards
// its own resources, remembers task ids, refuses, and, where a test asks for it, hangs, lies or fails. It knows nothing of
// plans, steps or the agent, and must not import them. Its log is the witness of what really moved.
package home

import (
	"time"
)

// Options set the robot's figures. Zero means the default that stands beside the field.
type Options struct {
	Start    string             // room or place where the robot stands: the plan's dock
	Battery  float64            // percent at the start, above 0 to 100: 80
	Air      map[string]float64 // PM2.5 by room, µg/m³: 12 everywhere
	SpeedMPS float64            // metres a second: 0.5
	Log      func(Entry)        // the robot's own log: none
	Faults   Faults             // what goes wrong: nothing

	PlanTime     time.Duration // from an accepted move to the first turn of a wheel: 500 ms
	BrakeTime    time.Duration // from a stop to rest: 300 ms
	DockTime     time.Duration // last manoeuvre at the station: 3 s
	MeasureTime  time.Duration // one reading of the air sensor: 1 s
	SpinUp       time.Duration // from an accepted cleaning to a running fan: 1 s
	SettingTime  time.Duration // from an accepted setting to the changed value: 200 ms
	PushTime     time.Duration // how long a person takes to push the robot to another room: 3 s
	RuneTime     time.Duration // speech, for each character: 120 ms
	ProgressMove time.Duration // between two signs of life of a move: 2 s
	ProgressFan  time.Duration // between two signs of life of a cleaning: 60 s

	DrainIdle  int64 // percent an hour off the station: 12
	DrainMove  int64 // more while wheels turn: 25
	DrainClean int64 // more while the fan runs: 25
	Charge     int64 // percent an hour at the station: 50
	DustRise   int64 // µg/m³ an hour in every room, up to DustCeiling: 6
	// DustCeiling is where dust stops rising by itself, µg/m³: 30.
	DustCeiling float64
}

// Home is the model. It is not safe for concurrent use: its owner serialises the calls. Moments must not go back; an earlier
// one counts as the latest seen.
type Home struct {
	plan FloorPlan
	opt  Options
	log  func(Entry)

	at     int64 // simulated ms that the model has reached
	timers []*timer
	order  int64 // creation counter: timers that are due together fire in this order

	tasks   map[string]*task
	out     []Emission
	said    map[string]any // context values as last pushed
	resaid  map[string]bool
	seq     int64
	faults  Faults
	unknown bool // the robot does not know where it is: lifted, not yet found again

	room        string
	docked      bool
	motion      *motion
	cleaning    *cleaning
	hand        *timer
	battery     level
	powerOut    bool
	lastBattery reading
	dust        map[string]*level
	screen      screen
	sound       sound
	night       mode
	manner      mode
	quiet       bool // the hours are quiet, as the person has set them
	vital       *task
	speech      *speech
	asked       string // the question that the screen shows
	voice       *timer
	safety      string
	lifted      bool
	fault       string // code of a critical fault
}

// New returns a home with the robot at its start place. It panics on a plan or start place that does not hold together, which
// is a fault of the caller's own code.
func New(plan FloorPlan, opt Options) *Home {
	plan.mustHold()
	opt.fill(plan)
	h := &Home{plan: plan, opt: opt, log: opt.Log, faults: opt.Faults.clone(), room: opt.Start, docked: opt.Start == plan.Dock,
		tasks: map[string]*task{}, said: map[string]any{}, resaid: map[string]bool{}, dust: map[string]*level{},
		screen: screen{on: true, brightness: 80}, sound: sound{volume: 50}, safety: SafetyOK}
	if h.log == nil {
		h.log = func(Entry) {}
	}
	if _, ok := plan.place(opt.Start); !ok {
		panic("internal error: the robot starts in " + opt.Start + ", which is not on the floor plan")
	}
	h.battery.set(opt.Battery)
	for _, r := range plan.Rooms {
		l := &level{}
		l.set(opt.air(r.ID))
		h.dust[r.ID] = l
	}
	h.lastBattery = reading{h.battery.reported(), h.charging()}
	for key := range contexts {
		h.said[key] = h.read(key)
	}
	return h
}

func (o *Options) fill(plan FloorPlan) {
	def := func(p *time.Duration, d time.Duration) {
		if *p == 0 {
			*p = d
		}
	}
	num := func(p *int64, n int64) {
		if *p == 0 {
			*p = n
		}
	}
	if o.Start == "" {
		o.Start = plan.Dock
	}
	if o.Battery == 0 {
		o.Battery = 80
	}
	if o.SpeedMPS == 0 {
		o.SpeedMPS = 0.5
	}
	if o.DustCeiling == 0 {
		o.DustCeiling = 30
	}
	def(&o.PlanTime, 500*time.Millisecond)
	def(&o.BrakeTime, 300*time.Millisecond)
	def(&o.DockTime, 3*time.Second)
	def(&o.MeasureTime, time.Second)
	def(&o.SpinUp, time.Second)
	def(&o.SettingTime, 200*time.Millisecond)
	def(&o.PushTime, 3*time.Second)
	def(&o.RuneTime, 120*time.Millisecond)
	def(&o.ProgressMove, 2*time.Second)
	def(&o.ProgressFan, time.Minute)
	num(&o.DrainIdle, 12)
	num(&o.DrainMove, 25)
	num(&o.DrainClean, 25)
	num(&o.Charge, 50)
	num(&o.DustRise, 6)
}

func (o *Options) air(room string) float64 {
	if v, ok := o.Air[room]; ok {
		return v
	}
	return 12
}

// Advance brings the model to now and returns all that happened since the last call, in order.
func (h *Home) Advance(now time.Duration) []Emission {
	h.to(now)
	h.flush()
	out := h.out
	h.out = nil
	return h.faults.disturb(out)
}

// NextChange says when the model changes by itself next: no Advance before that moment can bring anything new. It is false where
// nothing will change without a call.
func (h *Home) NextChange() (time.Duration, bool) {
	if len(h.out) > 0 {
		return time.Duration(h.at) * time.Millisecond, true
	}
	at, ok := h.next()
	return time.Duration(at) * time.Millisecond, ok
}

// Now is the simulated moment that the model has reached.
func (h *Home) Now() time.Duration { return time.Duration(h.at) * time.Millisecond }

// SetFaults replaces what goes wrong from now on. Work that already runs keeps the faults it began with.
func (h *Home) SetFaults(now time.Duration, f Faults) {
	h.to(now)
	h.faults = f.clone()
}
