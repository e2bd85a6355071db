package eval

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"deviceagent/cloudlink/planner/turn"
)

// Pair is a planner with admission, and the same one without.
type Pair struct{ With, Without Planner }

// Interference says what admission changes about the decisions that would have been made without it. The baseline is a planner that does
// not know it; correct is what carries the label, or a family that its note accepts. What counts as unchanged is the whole decision
// but for the request itself, byte by byte.
type Interference struct {
	Kind         string   `json:"kind"`
	Rows         int      `json:"rows"`
	OwnerChanges []string `json:"owner_changes"`
	Changed      []string `json:"changed"` // rows with any other difference
	Rate         Formula  `json:"non_interference"`
	NotAdmitted  Cost     `json:"not_admitted"` // turns that are not admitted, with and without
}

// Cost compares what the same turns take. Times are those of a turn with its compilation: of each turn the fastest of the rounds,
// which take turns with each other in one run: what else the machine does only ever adds.
type Cost struct {
	Turns    int     `json:"turns"`
	Rounds   int     `json:"rounds"`
	With     Spent   `json:"with"`
	Without  Spent   `json:"without"`
	P95Ratio float64 `json:"p95_ratio"`
}

// Spent is what turns took.
type Spent struct {
	Calls  int64 `json:"model_calls"`
	Tokens int64 `json:"tokens"` // that the server reported
	Turn   Times `json:"turn_ms"`
}

func (s *Spent) add(d turn.Decision) {
	s.Calls += d.ModelCalls
	if d.Model == nil {
		return
	}
	for _, c := range d.Model.Calls {
		for _, n := range []*int64{c.InputTokens, c.OutputTokens} {
			if n != nil {
				s.Tokens += *n
			}
		}
	}
}

// Measuring of time: rounds where nobody is asked over a network.
const timingRounds = 31

// Kind of a comparison, beside those of rows.
const compared = "non_interference"

// MeasureInterference plans each row with and without admission. rounds is how often each turn is timed on either side; 0: 31, and once
// where a model is asked, which may cost something. Errors are the planner's.
func MeasureInterference(ctx context.Context, p Pair, rows []Row, rounds int) (Interference, error) {
	rep := Interference{Kind: compared, Rows: len(rows), OwnerChanges: []string{}, Changed: []string{}, Rate: Formula{Name: compared}}
	var quiet []turn.Input // turns that are not admitted
	for _, row := range rows {
		in := turn.Input{TurnID: row.ID, Text: row.Text}
		plain, err := p.Without.Plan(ctx, in)
		if err != nil {
			return rep, fmt.Errorf("cannot plan %s: %w", row.ID, err)
		}
		d, err := p.With.Plan(ctx, in)
		if err != nil {
			return rep, fmt.Errorf("cannot plan %s: %w", row.ID, err)
		}
		rep.compare(row, plain, d)
		if !Admitted(d) {
			quiet = append(quiet, in)
			rep.NotAdmitted.With.add(d)
			rep.NotAdmitted.Without.add(plain)
		}
	}
	c := &rep.NotAdmitted
	if c.Rounds = rounds; rounds == 0 && c.With.Calls+c.Without.Calls > 0 {
		c.Rounds = 1
	}
	c.Rounds = cmp.Or(c.Rounds, timingRounds)
	return rep, c.time(ctx, p, quiet)
}

// Admitted says whether a decision has a goal, be it bound to steps yet or not.
func Admitted(d turn.Decision) bool {
	return d.Experience != nil && d.Experience.Admission != turn.NotAdmitted
}

func (rep *Interference) compare(row Row, plain, d turn.Decision) {
	if plain.OwnerSelection != d.OwnerSelection {
		rep.OwnerChanges = append(rep.OwnerChanges, row.ID)
	}
	same := bytes.Equal(bare(plain), bare(d))
	if !same {
		rep.Changed = append(rep.Changed, row.ID)
	}
	if row.accepts(string(plain.OwnerSelection)) {
		rep.Rate.add(row.ID, same)
	}
}

// bare is a decision without what may differ: the request itself, and how long a model took.
func bare(d turn.Decision) []byte {
	d.Experience = nil
	if d.Trace != nil {
		t := *d.Trace
		t.Without, t.Refined, t.Usage = nil, nil, turn.Usage{} // that the stage was there is no difference; what a model took is counted apart
		d.Trace = &t
	}
	if d.Model != nil {
		m := *d.Model
		m.Calls = slices.Clone(m.Calls)
		for i := range m.Calls {
			m.Calls[i].LatencyMS = 0
		}
		d.Model = &m
	}
	out, err := json.Marshal(d)
	if err != nil {
		panic("internal error: " + err.Error()) // a decision goes out as JSON
	}
	return out
}

// time measures the turns again and again, with and without by turns.
func (c *Cost) time(ctx context.Context, p Pair, turns []turn.Input) error {
	c.Turns = len(turns)
	var with, without []time.Duration
	for _, in := range turns {
		took := [2][]time.Duration{}
		for round := range 2 * c.Rounds {
			which := (round + round/2) % 2 // with, without, without, with …
			ms, err := timed(ctx, [2]Planner{p.With, p.Without}[which], in)
			if err != nil {
				return err
			}
			took[which] = append(took[which], ms)
		}
		with, without = append(with, slices.Min(took[0])), append(without, slices.Min(took[1]))
	}
	c.With.Turn, c.Without.Turn = timesOf(with), timesOf(without)
	if p95 := float64(c.Without.Turn.P95); p95 > 0 {
		c.P95Ratio = c.With.Turn.P95 / p95
	}
	return nil
}

func timed(ctx context.Context, p Planner, in turn.Input) (time.Duration, error) {
	begin := time.Now()
	d, err := p.Plan(ctx, in)
	if err != nil {
		return 0, fmt.Errorf("cannot plan %s: %w", in.TurnID, err)
	}
	if c, ok := p.(compiler); ok && len(d.Steps) > 0 {
		_ = c.Compile(in, d) // whether it compiles is measured elsewhere
	}
	return time.Since(begin), nil
}

// Print writes the comparison for people.
func (rep Interference) Print(w io.Writer, _ bool) {
	rep.Rate.print(w)
	say(w, "owner changes %d %v, other changes %d %v\n", len(rep.OwnerChanges), rep.OwnerChanges, len(rep.Changed), rep.Changed)
	c := rep.NotAdmitted
	say(w, "not admitted: %d turns, %d rounds, p95 %.3f ms with and %.3f ms without, ratio %s; model calls %d and %d, tokens %d and %d\n", c.Turns, c.Rounds,
		c.With.Turn.P95, c.Without.Turn.P95, ratioText(c.With.Turn.P95, c.Without.Turn.P95), c.With.Calls, c.Without.Calls, c.With.Tokens, c.Without.Tokens)
}
