// Package catalog holds the robot's capabilities as typed values: operations, effects and the evidence that proves them, context
// keys, events, rooms, tokens and skills, with look-ups and the argument check. It is pure, built once and then only read. It
// decodes nothing: package bridge/catalogfile turns files into a Catalog, for device and planner alike.
// Contract: docs/catalog.md.
package catalog

import (
	"strings"

	"deviceagent/taskmanager/core/condition"
)

// Names of the catalog. Text: stored, sent and logged.
type (
	Method     string // one operation: the taskMethod of a plan, "setMoveTo"
	EffectID   string // "target_location_reached"
	ResourceID string // base, cleaner, screen, volume, speaker, vital
	ContextKey string // "movement.location"
	EventName  string // "movement.arrived"
	RoomID     string
	SkillID    string
)

// Catalog is the whole set. Maps are never nil. It is immutable after it was built.
type Catalog struct {
	Etag      string // hex SHA-256 over the deterministic CBOR of the enabled entries, rooms of a map service left out
	RoomsEtag string

	Resources  map[ResourceID]Resource
	Operations map[Method]Operation
	Effects    map[EffectID]Effect
	Context    map[ContextKey]Key
	Events     map[EventName]Event
	Skills     map[SkillID]Skill
	Tokens     map[string]Method // sk_move → setMoveTo
	Rooms      []Room
	Standing   map[string][]StandingStep // standing plans "stop" and "return"
	Guards     map[string]Guard          // what the agent watches by itself: "battery"
	Voice      map[string]Method         // how the agent speaks and shows words by itself: "say", "hush", "show"; empty: the robot has no voice
	Services   map[string]DBusService    // services on the bus that keep their own interface, by executor name

	Reasons   map[string]Sentence // what is said of a step that has come to grief, by reason_code; {step}, {done}, {left}, {choice} are filled in
	Questions map[string]Sentence // what the device asks its user, and the words of the answers
}

// Sentence says one thing in each language.
type Sentence struct {
	Ko string `json:"ko"`
	En string `json:"en"`
}

// In gives the sentence in the language of a locale: Korean, unless that is another one.
func (s Sentence) In(locale string) string {
	if korean(locale) {
		return s.Ko
	}
	return s.En
}

func korean(locale string) bool {
	return locale == "" || strings.HasPrefix(strings.ToLower(locale), "ko")
}

// Resource is what at most one attempt may use at a time.
type Resource struct {
	AtRest *Expr  `json:"at_rest,omitempty"` // context only: holds when whatever used it has stopped
	Body   bool   `json:"body,omitempty"`    // part of the moving body: "멈춰" stops it
	Stop   Method `json:"stop,omitempty"`    // the operation that stops it
}

// Type is the type of a parameter, an output field, a context value or an event field.
type Type string

// The types. Room is a string that must resolve to exactly one room; its resolved form is {"room_id","name"}.
const (
	String  Type = "string"
	Number  Type = "number"
	Integer Type = "integer"
	Boolean Type = "boolean"
	RoomRef Type = "room"
)

// Param is a parameter of an operation (a subset of JSON Schema), or a field of an output or event.
type Param struct {
	Type     Type              `json:"type"`
	Enum     []condition.Value `json:"enum,omitempty"`
	Minimum  *float64          `json:"minimum,omitempty"`
	Maximum  *float64          `json:"maximum,omitempty"`
	Required bool              `json:"required,omitempty"`
	Default  condition.Value   `json:"default,omitempty"`
	Aliases  []string          `json:"aliases,omitempty"` // other names of the parameter itself, as "room" for "position"
}

// Redo says when a physical operation may be sent again for one step.
type Redo string

// The redo classes. Never is the default.
const (
	RedoAnytime   Redo = "anytime"
	RedoAfterStop Redo = "after_stop"
	RedoNever     Redo = "never"
)

// Probe says what an executor remembers of a task.
type Probe string

// Durable: also after its own restart. Volatile: only the same service instance. None: nothing.
const (
	ProbeDurable  Probe = "durable"
	ProbeVolatile Probe = "volatile"
	ProbeNone     Probe = "none"
)

// Duration is a constant, or depends on an argument: PerMS for each unit of Per, plus PlusMS. Per empty: PlusMS alone.
type Duration struct {
	Per    string `json:"per,omitempty"`
	PerMS  int64  `json:"ms,omitempty"`
	PlusMS int64  `json:"plus,omitempty"`
}

// Operation is one taskMethod.
type Operation struct {
	Method         Method           `json:"taskMethod"`
	Capability     string           `json:"capability"`
	Kind           string           `json:"kind"` // execution, state_query, settings
	Params         map[string]Param `json:"params"`
	AtLeastOne     []string         `json:"at_least_one,omitempty"` // of these parameters at least one must be given
	Output         map[string]Param `json:"output,omitempty"`
	Resources      []ResourceID     `json:"resources,omitempty"`
	Stops          []ResourceID     `json:"stops,omitempty"` // a stop operation: takes no resource, waits for nobody, never satisfied
	Variants       []Variant        `json:"variants,omitempty"`
	Effects        []EffectID       `json:"effects,omitempty"`          // default
	MoreEffects    []EffectID       `json:"optional_effects,omitempty"` // only where the plan names them
	DoneEvidence   *Expr            `json:"done_evidence,omitempty"`    // proof where no effect applies
	DoneConfidence Confidence       `json:"done_confidence,omitzero"`

	Redo       Redo  `json:"redo"`
	Probe      Probe `json:"probe"`
	ReadOnly   bool  `json:"read_only,omitempty"`
	MovesBody  bool  `json:"moves_body,omitempty"`
	Safety     bool  `json:"safety,omitempty"`
	HumanPaced bool  `json:"human_paced,omitempty"`

	Pause      bool     `json:"pause,omitempty"`
	PauseMS    int64    `json:"pause_ms,omitempty"`
	Cancel     bool     `json:"cancel,omitempty"` // the executor takes Cancel(task_id)
	StopMS     int64    `json:"stop_ms,omitempty"`
	AckMS      int64    `json:"ack_ms"`
	Timeout    Duration `json:"timeout"`
	EvidenceMS int64    `json:"evidence_timeout_ms"`
	HoldMS     int64    `json:"hold_ms,omitempty"` // 0: 60000
	ExpectedMS Duration `json:"expected,omitzero"`

	Noisy         *condition.Condition `json:"noisy,omitempty"` // over the arguments: with these it makes noise
	Loud          bool                 `json:"-"`               // of an effective operation: it is so
	Prerequisites *condition.Condition `json:"prerequisites,omitempty"`
	Consent       string               `json:"consent,omitempty"`
	Sensitivity   string               `json:"sensitivity,omitempty"`
	MinTier       string               `json:"min_tier,omitempty"`
	Schedulable   bool                 `json:"schedulable,omitempty"`
	Visibility    string               `json:"visibility,omitempty"` // public (default), lab, internal
	ReleaseEvent  EventName            `json:"release_event,omitempty"`
	Aliases       Aliases              `json:"aliases,omitzero"`
	Binding       Binding              `json:"executor"`
}

// Aliases are the words people use, for the planner. They never hold whole sentences.
type Aliases struct {
	Ko []string `json:"ko,omitempty"`
	En []string `json:"en,omitempty"`
}

// In gives the words in the language of a locale, as [Sentence.In].
func (a Aliases) In(locale string) []string {
	if korean(locale) {
		return a.Ko
	}
	return a.En
}

// Variant replaces resources, effects and moves_body where its condition over the arguments ("params.mode") is true. The first
// that matches is chosen at intake.
type Variant struct {
	When      condition.Condition `json:"when"`
	Resources []ResourceID        `json:"resources,omitempty"`
	Effects   []EffectID          `json:"effects,omitempty"`
	NoEffect  bool                `json:"no_effect,omitempty"` // this variant has no effect: done_evidence proves it
	MovesBody *bool               `json:"moves_body,omitempty"`

	DoneEvidence  *Expr                `json:"done_evidence,omitempty"` // nil: the operation's
	Prerequisites *condition.Condition `json:"prerequisites,omitempty"` // nil: the operation's
}

// Binding names who serves the operation.
type Binding struct {
	Kind string `json:"kind"` // socket, dbus, process
	Name string `json:"name"` // the program or service that may register it

	Process *Process `json:"process,omitempty"` // of kind process: how it is run
	DBus    *DBus    `json:"dbus,omitempty"`    // of kind dbus: where it is
	Socket  *Socket  `json:"socket,omitempty"`  // of kind socket: who may register as it, and what it may speak of; nil: nothing is said
}

// DBus says where a service that implements org.deviceagent.Executor1 is on the bus; or, with Map alone, how the operation is carried out
// by a service with an interface of its own, which is in Catalog.Services.
type DBus struct {
	Service string       `json:"service,omitempty"` // well-known name
	Path    string       `json:"path,omitempty"`    // of its object
	Keys    []ContextKey `json:"keys,omitempty"`
	Map     *DBusMap     `json:"map,omitempty"`
}

// Process says how a task is run as a program of its own: no shell, no inherited environment.
type Process struct {
	Argv   []string          `json:"argv"`             // the program by its full path, then its arguments; {name} is the argument of that name
	Env    map[string]string `json:"env,omitempty"`    // beside PATH, LANG and TASK_ID
	Accept string            `json:"accept,omitempty"` // start (default): it runs, so it has accepted; line: it says so
	Exit   map[string]string `json:"exit,omitempty"`   // exit code → done, cancelled or a reason_code; left out: 0 is done, all else failed
	Keys   []ContextKey      `json:"keys,omitempty"`   // of the context, that it may speak of
}

// How a program accepts its task.
const (
	AcceptByStart = "start"
	AcceptByLine  = "line"
)

// Placeholders names the arguments that an element of an argv wants, in order.
func Placeholders(element string) (names []string) {
	for {
		_, rest, open := strings.Cut(element, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !open || !closed {
			return names
		}
		names, element = append(names, name), after
	}
}

// Class is the source class of a signal. Echo never counts alone.
type Class string

// From the strongest to the weakest.
const (
	Independent Class = "independent" // a sensor or manager that observes the effect
	SamePath    Class = "same_path"   // the reply of the path that carried the command
	Echo        Class = "echo"        // the command repeated
)

// Confidence says which classes prove an effect.
type Confidence struct {
	Accept            []Class `json:"accept"`
	WindowCorrelation bool    `json:"window_correlation,omitempty"` // a source without task_id may be correlated by resource and window
}

// Effect is what becomes true in the home, and what proves it.
type Effect struct {
	ID           EffectID   `json:"-"`
	Kind         string     `json:"kind"` // achieve, maintain
	Terminal     Expr       `json:"terminal_evidence"`
	Holds        *Expr      `json:"holds,omitempty"` // context only
	Contradicted []Leaf     `json:"contradicted_by,omitempty"`
	Confidence   Confidence `json:"confidence_policy"`
}

// Expr is exactly one of All, Any or Leaf.
type Expr struct {
	All  []Expr `json:"all,omitempty"`
	Any  []Expr `json:"any,omitempty"`
	Leaf *Leaf  `json:"leaf,omitempty"` // inlined in the file form; here it is kept with a stored plan
}

// Leaf is one event or one context comparison. Values that begin with "$" refer to a resolved argument: "$position.room_id",
// "$level".
type Leaf struct {
	Event     EventName                  `json:"event,omitempty"`
	Match     map[string]condition.Value `json:"match,omitempty"`     // each field of data equals
	MatchNot  map[string]condition.Value `json:"match_not,omitempty"` // at least one field is there and differs
	Correlate string                     `json:"correlate,omitempty"` // task_id, or empty

	Context     ContextKey      `json:"context,omitempty"`
	Op          condition.Op    `json:"op,omitempty"`
	Value       condition.Value `json:"value,omitempty"`
	MaxAgeMS    int64           `json:"max_age_ms,omitempty"` // 0: the key's limit
	StableForMS int64           `json:"stable_for_ms,omitempty"`
}

// Key is one entry of the device context.
type Key struct {
	Type     Type              `json:"type"`
	Enum     []condition.Value `json:"enum,omitempty"`
	MaxAgeMS int64             `json:"max_age_ms"`       // freshness limit
	Class    Class             `json:"class"`            // the class of its signal; what an executor claims can only weaken it
	Source   string            `json:"source,omitempty"` // the authoritative source, where two may speak
}

// Event is one event that executors may report.
type Event struct {
	Class    Class            `json:"class"`
	Resource ResourceID       `json:"resource,omitempty"`
	Data     map[string]Param `json:"data,omitempty"`
}

// Skill is a content or cloud skill.
type Skill struct {
	Owner   string     `json:"owner"` // route family
	Effects []EffectID `json:"effects,omitempty"`
	Content bool       `json:"content,omitempty"`
	Noisy   bool       `json:"noisy,omitempty"` // it is heard in the home
}

// Room is a place. Names and aliases are matched after folding spaces, case and Korean particles are left to the planner.
type Room struct {
	ID        RoomID   `json:"id"`
	Name      string   `json:"name"`
	Aliases   []string `json:"aliases,omitempty"`
	Reachable bool     `json:"reachable"`
}

// StandingStep is one step of a standing plan.
type StandingStep struct {
	Method Method                     `json:"taskMethod"`
	Params map[string]condition.Value `json:"params,omitempty"`
}

// Guard says at which values of a sensor the agent acts of its own accord. Of the battery, in percent: at ReturnAt or below it holds
// what moves the body and runs the standing plan return; at GoOnAt or above work goes on.
type Guard struct {
	ReturnAt float64 `json:"return_at"`
	GoOnAt   float64 `json:"go_on_at"`
}
