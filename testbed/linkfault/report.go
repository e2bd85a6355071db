package linkfault

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"deviceagent/testbed/netfault"
)

// Report is what a campaign has shown.
type Report struct {
	Seed      uint64
	Messages  int64 // that passed the proxies, repeats included
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
	return &Report{Seed: c.opt.Seed, Messages: c.messages(), Plans: c.book.n.Load(), States: map[string]int{}, Refused: map[string]int{}, Struck: c.struck(),
		Back: c.times.back, Noticed: c.times.noticed}
}

// Lacks says what of the options was not shown.
func (r *Report) Lacks(o Options) (out []string) {
	if r.Messages < o.Messages {
		out = append(out, fmt.Sprintf("%d messages, at least %d were asked for", r.Messages, o.Messages))
	}
	if r.Plans < o.Plans {
		out = append(out, fmt.Sprintf("%d plans, at least %d were asked for", r.Plans, o.Plans))
	}
	for _, f := range append(slices.Clone(netfault.Faults), brokerKilled, brokerForgets, plannerAnew, agentAnew) {
		if r.Struck[f] < o.Each {
			out = append(out, fmt.Sprintf("%s struck %d times, at least %d were asked for", f, r.Struck[f], o.Each))
		}
	}
	if len(r.Slow) < o.Slow || len(r.NoConnack) < o.Slow {
		out = append(out, fmt.Sprintf("%d half-open lines and %d missing CONNACKs as shipped, at least %d were asked for", len(r.Slow), len(r.NoConnack), o.Slow))
	}
	for _, d := range r.Slow {
		if d > mostHalfOpen {
			out = append(out, fmt.Sprintf("a half-open line was noticed after %v, at most %v is promised", d.Round(time.Millisecond), mostHalfOpen))
		}
	}
	return out
}

// mostHalfOpen bounds the time in which a half-open line has to be noticed. Source: docs/contract.md, transport.
const mostHalfOpen = 50 * time.Second

// Good says whether nothing was found that must never be.
func (r *Report) Good() bool { return r.Lost+r.Doubled+r.Disorder+len(r.Never) == 0 }

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "\n%d messages over the proxies, %d plans, %d steps carried out, %d messages of devices, in %v\n", r.Messages, r.Plans, r.Steps, r.Up, r.Took.Round(time.Second))
	fmt.Fprint(w, "plans ended:")
	for _, s := range slices.Sorted(maps.Keys(r.States)) {
		fmt.Fprintf(w, " %d %s", r.States[s], s)
	}
	for _, why := range slices.Sorted(maps.Keys(r.Refused)) {
		fmt.Fprintf(w, " %d refused %s", r.Refused[why], why)
	}
	fmt.Fprintln(w, "\n\nfault               struck")
	for _, f := range slices.Sorted(maps.Keys(r.Struck)) {
		fmt.Fprintf(w, "%-18s %7d\n", f, r.Struck[f])
	}
	fmt.Fprintln(w)
	line := func(what string, list []time.Duration) {
		if len(list) > 0 {
			fmt.Fprintf(w, "%-44s %5d times, 95 of 100 within %8v, longest %8v\n", what, len(list), at(list, 0.95).Round(time.Millisecond), at(list, 1).Round(time.Millisecond))
		}
	}
	line("online again after a fault", r.Back)
	line("half-open line noticed, keepalive 1 s", r.Noticed)
	line("half-open line noticed, as shipped", r.Slow)
	line("no CONNACK given up, as shipped", r.NoConnack)
	fmt.Fprintf(w, "\nlost %d, doubled %d, out of order %d\n", r.Lost, r.Doubled, r.Disorder)
	for _, text := range r.Never {
		fmt.Fprintln(w, "  "+text)
	}
}

// at is the value below which so much of a list lies.
func at(list []time.Duration, part float64) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}
