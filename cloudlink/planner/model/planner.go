package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"deviceagent/bridge"
	"deviceagent/bridge/catalogfile"
	"deviceagent/cloudlink/planner/compile"
	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// Rules is the planner whose decision is draft and fallback.
type Rules interface {
	Plan(ctx context.Context, in turn.Input) (turn.Decision, error)
	Hear(in turn.Input) turn.Heard
	Seen(heard turn.Heard) rules.Seen
}

// Options are what a Planner is made of. Rules and Catalog are required.
type Options struct {
	Config
	Rules   Rules
	Catalog *catalog.Catalog
	Words   catalogfile.Planner
	Agents  *registry.Registry // nil: the shipped ones

	// More gives what else a model may see of a turn: history, retrieved pages, running work; in order of importance, the last are
	// left out first. It is data of strangers, and goes into the prompt as such. Nil: nothing.
	More func(context.Context, turn.Input) []Data
	// Check names the faults of a decision with steps. Nil: the compiler's, and those that the device would find.
	Check func(turn.Input, turn.Decision) []string

	Log zerolog.Logger
	Now func() time.Time // nil: time.Now
}

// Planner asks a model where that can help, and is a Rules otherwise. It may be used by several goroutines at once.
type Planner struct {
	opt    Options
	reg    *known
	schema Schema
	system string
	client *client
	rest   *rest
}

// New checks the options. It opens nothing.
func New(opt Options) (*Planner, error) {
	var errs []error
	if opt.Rules == nil || opt.Catalog == nil {
		errs = append(errs, errors.New("rules or catalog are missing"))
	}
	if err := errors.Join(append(errs, opt.Validate())...); err != nil {
		return nil, fmt.Errorf("cannot attach model: %w", err)
	}
	if opt.Agents == nil {
		opt.Agents = registry.Default()
	}
	agents := opt.Agents.For(opt.Catalog)
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Check == nil {
		opt.Check = checker(opt.Catalog)
	}
	p := &Planner{opt: opt, reg: &known{opt.Catalog, opt.Words, agents, agents.Flows()}, client: newClient(opt.Config), rest: &rest{now: opt.Now}}
	p.schema = p.reg.outputSchema()
	p.system = p.reg.system(p.schema)
	if need := tokens(p.system) + tokens(string(p.schema.JSONSchema())); need+leastRoom > opt.PromptTokens {
		return nil, fmt.Errorf("cannot attach model: prompt-tokens: %d is too few: what this catalog needs is about %d, and %d more for what is said", opt.PromptTokens, need, leastRoom)
	}
	if opt.clear() {
		opt.Log.Warn().Str("at", p.client.at).Msg("what people say goes to the model over the network in clear; use https")
	}
	return p, nil
}

// leastRoom is what a turn itself needs of a prompt, in tokens.
const leastRoom = 500

// checker is what a plan has to pass before it goes to a device.
func checker(cat *catalog.Catalog) func(turn.Input, turn.Decision) []string {
	return func(in turn.Input, d turn.Decision) (faults []string) {
		plan, err := compile.Plan(cat, in, d, compile.IDs{WorkflowID: "wf", PlanID: "pl"})
		if err != nil {
			return []string{"steps: " + err.Error()}
		}
		_, found := bridge.CheckPlan(compile.Home(cat, in.Rooms), &plan)
		for _, f := range found {
			faults = append(faults, f.Path+": "+f.Message)
		}
		return faults
	}
}

// Draft is the planner by rules, where it is one; else nil.
func (p *Planner) Draft() *rules.Planner {
	r, _ := p.opt.Rules.(*rules.Planner)
	return r
}

// Hear and Seen are those of the rules.
func (p *Planner) Hear(in turn.Input) turn.Heard { return p.opt.Rules.Hear(in) }

// Seen lists what stands in the words, as the rules see it.
func (p *Planner) Seen(heard turn.Heard) rules.Seen { return p.opt.Rules.Seen(heard) }

func (p *Planner) cat(in turn.Input) *catalog.Catalog { return compile.Home(p.reg.cat, in.Rooms) }

// Plan decides by the rules, and asks the model where its setting says so. It ends within the deadline, and fails only where the
// rules fail: whatever goes wrong with a model, their decision stands and says what went wrong.
func (p *Planner) Plan(ctx context.Context, in turn.Input) (turn.Decision, error) {
	draft, err := p.opt.Rules.Plan(ctx, in)
	if err != nil || p.stops(draft) || p.opt.Use == Unclear && certain(draft) {
		return draft, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.opt.Deadline)
	defer cancel()
	t := &turn.ModelTrace{DraftFamily: draft.OwnerSelection, Calls: []turn.ModelCall{}}
	d := p.decide(ctx, in, draft, t)
	for _, c := range t.Calls {
		d.ModelCalls += c.Requests
	}
	d.Model = t
	return d, nil
}

// decide asks the main question, and the second where the answer to the first leaves two families close.
func (p *Planner) decide(ctx context.Context, in turn.Input, draft turn.Decision, t *turn.ModelTrace) turn.Decision {
	if p.rest.resting() {
		t.Verdict, t.Fault = Fallback, string(Resting)
		return draft
	}
	a, fault := p.main(ctx, in, draft, t)
	p.rest.note(fault)
	if fault != nil {
		p.tell(fault)
		t.Verdict, t.Fault = Fallback, string(fault.Code)
		return draft
	}
	d, verdict := a.judge()
	t.Verdict = verdict
	if verdict == KeptDraft {
		return d
	}
	return p.secondPass(ctx, in, draft, d, t)
}

// main asks the main question, and has the answer repaired once where it is an answer but not a right one.
func (p *Planner) main(ctx context.Context, in turn.Input, draft turn.Decision, t *turn.ModelTrace) (*accepting, *Fault) {
	var more []Data
	if p.opt.More != nil {
		more = p.opt.More(ctx, in)
	}
	req := Request{Purpose: "main", System: p.system, Schema: p.schema, Data: p.dataOf(in, draft, more)}
	for {
		answer, call, fault := p.client.ask(ctx, req)
		if fault != nil {
			t.Calls = append(t.Calls, call)
			return nil, fault
		}
		var out output
		faults := read(answer.Text, p.schema, &out)
		if len(faults) == 0 {
			a := p.accept(in, draft, out)
			if faults = a.prop.faults; len(faults) == 0 {
				t.Calls = append(t.Calls, call)
				return a, nil
			}
		}
		call.Fault = string(BadAnswer)
		t.Calls = append(t.Calls, call)
		if req.Purpose == "repair" || !sleep(ctx, 0) {
			return nil, &Fault{Code: BadAnswer, Op: "use the answer of " + p.client.at, Detail: place(faults)}
		}
		req.Purpose = "repair"
		req.Data = append([]Data{{Name: "previous_answer", V: cut(answer.Text, 4000), Keep: true}, {Name: "faults_of_previous_answer", V: faults[:min(len(faults), maxFaults)], Keep: true}}, req.Data...)
	}
}

// place is where the first fault is; what was there stays unsaid.
func place(faults []string) string {
	at, _, _ := strings.Cut(faults[0], ":")
	return fmt.Sprintf("%s, %d faults", at, len(faults))
}

func cut(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes])
}

func (p *Planner) tell(fault *Fault) {
	p.opt.Log.Warn().Str("code", string(fault.Code)).Err(fault).Msg("model was of no use, the rules decide")
}

// rest keeps turns from waiting for a server that is down: after several failures in a row nobody asks it for a while.
type rest struct {
	mu    sync.Mutex
	now   func() time.Time
	inRow int
	until time.Time
}

const (
	failuresInRow = 3
	restFor       = 30 * time.Second
)

func (r *rest) resting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now().Before(r.until)
}

// note counts what says something about the server. A bad answer says something about the model, and the next one may be good.
func (r *rest) note(fault *Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fault == nil || fault.Code == BadAnswer || fault.Code == TooLong || fault.Code == Blocked || fault.Code == CutOff {
		r.inRow = 0
		return
	}
	if r.inRow++; r.inRow >= failuresInRow {
		r.inRow, r.until = 0, r.now().Add(restFor)
	}
}
