package linkfault

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"deviceagent/testbed/netfault"
)

// Report is what a campaign has shown.
type Report struct {
	Seed      uint64
	Messages  int64          // that the brokers passed on, as subscribers beside counted them, repeats included
	Types     map[string]int // of these messages
	Plans     int64
	Refused   map[string]int // plans that were refused, by reason
	Steps     int64          // that the robots carried out
	Up        int64          // messages that the devices made for the planner
	States    map[string]int
	Struck    map[netfault.Fault]int
	Back      []time.Duration // each time from a strike to online
	Noticed   []time.Duration // half-open lines, keepalive 1 s
	Slow      []time.Duration // half-open lines, as shipped
	NoConnack []time.Duration // as shipped
	Through   []time.Duration // each plan from its submission to its result at the planner
	Early     int             // messages up that were at the planner before an older one
	Took      time.Duration

	Lost, Doubled, Disorder int
	Never                   []string // what must never be, with names; at most some
}

func (r *Report) note(n *int, format string, args ...any) {
	if *n++; len(r.Never) < 40 {
		r.Never = append(r.Never, fmt.Sprintf(format, args...))
	}
}

func (r *Report) lost(format string, args ...any)    { r.note(&r.Lost, "lost: "+format, args...) }
func (r *Report) doubled(format string, args ...any) { r.note(&r.Doubled, "doubled: "+format, args...) }
func (r *Report) disorder(format string, args ...any) {
	r.note(&r.Disorder, "out of order: "+format, args...)
}

func (c *campaign) report() *Report {
	rep := &Report{Seed: c.opt.Seed, Types: map[string]int{}, Messages: c.messages(), Plans: c.book.n.Load(), States: map[string]int{}, Refused: map[string]int{}, Struck: c.struck(),
		Back: c.times.back, Noticed: c.times.noticed}
	for _, cl := range c.cells {
		cl.witness.mu.Lock()
		for t, n := range cl.witness.types {
			rep.Types[t] += n
		}
		cl.witness.mu.Unlock()
	}
	for _, p := range c.book.plans {
		if p.ended {
			rep.Through = append(rep.Through, p.took)
		}
	}
	return rep
}

// Lacks says what of the options was not shown.
func (r *Report) Lacks(o Options) (out []string) {
	if r.Messages < o.Messages {
		out = append(out, fmt.Sprintf("%d messages, at least %d were asked for", r.Messages, o.Messages))
	}
	if r.Plans < o.Plans {
		out = append(out, fmt.Sprintf("%d plans, at least %d were asked for", r.Plans, o.Plans))
	}
	for _, t := range types {
		if r.Types[t] == 0 {
			out = append(out, "no message "+t)
		}
	}
	for _, f := range append(slices.Clone(netfault.Faults), brokerKilled, brokerForgets, plannerKilled, agentKilled) {
		if r.Struck[f] < o.Each {
			out = append(out, fmt.Sprintf("%s struck %d times, at least %d were asked for", f, r.Struck[f], o.Each))
		}
	}
	if len(r.Slow) < o.Slow || len(r.NoConnack) < o.Slow {
		out = append(out, fmt.Sprintf("%d half-open lines and %d missing CONNACKs as shipped, at least %d were asked for", len(r.Slow), len(r.NoConnack), o.Slow))
	}
	for _, d := range append(slices.Clone(r.Slow), r.Noticed...) {
		if d > mostHalfOpen {
			out = append(out, fmt.Sprintf("a half-open line was noticed after %v, at most %v is promised", d.Round(time.Millisecond), mostHalfOpen))
		}
	}
	return out
}

// types are all messages that the two ends know.
var types = []string{"up/status", "up/ack", "up/result", "up/escalation", "up/step_due", "down/plan", "down/control", "down/decision", "down/step_result", "down/receipt"}

// mostHalfOpen bounds the time in which a half-open line has to be noticed. Source: docs/contract.md, transport.
const mostHalfOpen = 50 * time.Second

// Good says whether nothing was found that must never be.
func (r *Report) Good() bool { return r.Lost+r.Doubled+r.Disorder+len(r.Never) == 0 }

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "\n| what | how much |\n| --- | --- |\n")
	row := func(what string, format string, args ...any) {
		fmt.Fprintf(w, "| %s | %s |\n", what, fmt.Sprintf(format, args...))
	}
	row("messages, as a subscriber beside counted them", "%d", r.Messages)
	row("of which", "%s", listed(r.Types))
	row("messages that the robots had to bring to the planner", "%d", r.Up)
	row("plans submitted", "%d", r.Plans)
	row("plans ended", "%s", listed(r.States))
	if len(r.Refused) > 0 {
		row("plans not taken, and the robot knows nothing of them", "%s", listed(r.Refused))
	}
	row("steps that the robots carried out, by their own logs", "%d", r.Steps)
	row("**lost**", "**%d**", r.Lost)
	row("**done twice**", "**%d**", r.Doubled)
	row("**out of order**", "**%d**", r.Disorder)
	row("messages that came to the planner before an older one, without harm", "%d", r.Early)
	line := func(what string, list []time.Duration) {
		if len(list) > 0 {
			row(what, "%d times, 95 of 100 within %v, longest %v", len(list), at(list, 0.95).Round(time.Millisecond), at(list, 1).Round(time.Millisecond))
		}
	}
	line("from a fault that broke the line to online again", r.Back)
	line("from the submission of a plan to its result at the planner", r.Through)
	line("half-open line noticed, keepalive 1 s", r.Noticed)
	line("half-open line noticed, at the shipped settings", r.Slow)
	line("no CONNACK given up, at the shipped settings", r.NoConnack)
	row("time", "%v", r.Took.Round(time.Second))
	fmt.Fprintf(w, "\n| fault | times |\n| --- | --- |\n")
	for _, f := range slices.Sorted(maps.Keys(r.Struck)) {
		row(string(f), "%d", r.Struck[f])
	}
	fmt.Fprintln(w)
	for _, text := range r.Never {
		fmt.Fprintln(w, "never: "+text)
	}
}

func listed(n map[string]int) string {
	var out []string
	for _, s := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%d %s", n[s], s))
	}
	return strings.Join(out, ", ")
}

// at is the value below which so much of a list lies.
func at(list []time.Duration, part float64) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}
