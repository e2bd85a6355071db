package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// page writes for people: a column of names, and what belongs to them.
type page struct{ w io.Writer }

func (p page) line(name, format string, args ...any) {
	_, _ = fmt.Fprintln(p.w, strings.TrimRight(wide(name, 14)+" "+fmt.Sprintf(format, args...), " "))
}

// wide fills a text up to a number of columns. A letter of Hangul takes two.
func wide(text string, columns int) string {
	for _, r := range text {
		if columns--; unicode.Is(unicode.Hangul, r) {
			columns--
		}
	}
	return text + strings.Repeat(" ", max(0, columns))
}

func (p page) head(text string) { _, _ = fmt.Fprintf(p.w, "\n%s\n", text) }

func (s said) print(w io.Writer) {
	p, d := page{w}, s.Decision
	p.line("said", "%s", s.Text)
	p.line("belongs to", "%s: %s (%s, confidence %s)", d.OwnerSelection, familyNames[d.OwnerSelection], d.SelectedFlowID, cmp.Or(d.FamilyConfidence, "not given"))
	p.line("answer", "%s", d.TTSResponse)
	if d.AskFollowUp {
		p.line("asks for", "%s", cmp.Or(strings.Join(d.MissingSlots, ", "), d.AmbiguityReason, "what is meant"))
	}
	if d.Control != nil {
		p.line("control", "%s %s", d.Control.Verb, d.Control.Scope)
	}
	for _, r := range d.Refused {
		p.line("refuses", "%s (%s)", r.Span, r.Category)
	}
	if d.Schedule != nil {
		p.line("schedule", "%s %s", d.Schedule.Verb, text(d.Schedule.Schedule))
	}
	if d.Slots != nil {
		p.line("left open", "%s", text(d.Slots))
	}
	if r := d.Revises; r != nil {
		p.line("revises", "workflow %s, revision %d (%s)", r.WorkflowID, r.Revision, r.How)
	}
	if e := d.Experience; e != nil {
		p.line("goal", "%s: %s %s", e.Admission, e.ReasonCode, strings.Join(e.Axes, ", "))
	}
	s.steps(p)
	s.because(p)
	if d.Trace != nil {
		stages(p, d)
	}
}

// familyNames say what a family is to somebody who meets it for the first time.
var familyNames = map[turn.Family]string{
	turn.ODL: "something of this robot", turn.SCH: "a schedule", turn.FRG: "information from outside", turn.DEF: "conversation", turn.DQR: "a question about the product",
	turn.UNS: "something that this robot cannot do", turn.STTNull: "no target for a reply", turn.STM: "a story or a quiz", turn.ETR: "talk about entertainment",
}

func (s said) steps(p page) {
	if len(s.Decision.Steps) == 0 {
		p.head("no steps")
		return
	}
	p.head("steps (nothing is sent)")
	for _, st := range s.Decision.Steps {
		p.line("  "+st.ID, "%s %s", wide(act(st), 44), quoted(st.Span))
		if how := manner(st); how != "" {
			p.line("", "%s", how)
		}
	}
	if s.Refused != "" {
		p.line("  no plan", "%s", s.Refused)
	}
}

// act is what a step does, with its arguments.
func act(s turn.Step) string {
	var args []string
	for name := range s.Params {
		args = append(args, name+"="+strings.Trim(text(s.Params[name].V), `"`))
	}
	slices.Sort(args)
	return strings.TrimSpace(cmp.Or(s.TaskMethod, s.Skill) + " " + strings.Join(args, " "))
}

// manner is when it begins and when it has ended.
func manner(s turn.Step) string {
	var out []string
	add := func(on bool, format string, args ...any) {
		if on {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	var after []string
	for _, d := range s.DependsOn {
		after = append(after, d.Step)
	}
	add(s.ExecutionTarget == "cloud", "in the cloud")
	add(len(after) > 0, "after %s", strings.Join(after, ", "))
	add(s.AnchorEvent != "", "after the event %s", s.AnchorEvent)
	add(s.DelayMS > 0, "waits %s", time.Duration(s.DelayMS)*time.Millisecond)
	add(s.When != nil, "only if %s", condition(s.When))
	add(s.WaitPolicy == "event", "what follows waits for its start only")
	add(len(s.RequiredEffects) > 0, "until %s", strings.Join(s.RequiredEffects, ", "))
	return strings.Join(out, "; ")
}

// condition writes one as people read it.
func condition(c *wire.Condition) string {
	if c == nil {
		return ""
	}
	if len(c.All) > 0 {
		var all []string
		for _, part := range c.All {
			all = append(all, condition(&part))
		}
		return strings.Join(all, " and ")
	}
	if c.Ref == "" {
		return text(c)
	}
	return strings.TrimSpace(c.Ref + " " + c.Op + " " + strings.Trim(strings.ReplaceAll(text(c.Value.V), `"`, ""), "[]"))
}

func (s said) because(p page) {
	p.head("because")
	for _, e := range s.Decision.Evidence {
		line := e.ID
		if e.Span != "" {
			line = wide(e.ID, 28) + " " + wide(quoted(e.Span), 24)
		}
		if e.Margin > 0 {
			line += fmt.Sprintf(" its family is %.0f %% ahead", 100*e.Margin)
		}
		p.line("  "+e.Kind, "%s", line)
	}
}

// stages tells the trace, a line for each stage that found something.
func stages(p page, d turn.Decision) {
	t := d.Trace
	p.head("stages")
	p.line("   1 words", "%d, %s%s", t.Normalised.Words, t.Normalised.Language, marks(map[string]bool{"a question mark": t.Normalised.Question, "may go on": t.Normalised.Partial, "recognised with little confidence": t.Normalised.Unsure, "said to somebody else": t.Normalised.ForAnother}))
	p.line("   2 history", "%s%s", t.History.HintStrength, after(t.History.ActiveWorkflowSummary, t.History.PendingFollowUpText))
	for i, f := range t.Ranked.TopFlows {
		p.line(map[bool]string{true: "   3 flows"}[i == 0], "%3.0f %% %s %s", 100*f.Score, wide(f.FlowID, 44), f.Rationale)
	}
	p.line("   4 marks", "%s", cmp.Or(strings.Join(flagsOf(t.Hints), " "), "none"))
	p.line("   5 object", "%s, %s, confidence %s (by %s)", t.Object.Type, t.Object.Role, t.Object.Confidence, t.Object.By)
	p.line("   7 reply", "%s: %s (by %s)", t.Reply.Type, t.Reply.Reason, t.Reply.By)
	p.line("   9 looks at", "%s (%s)", strings.Join(t.Candidates.AgentIDs, ", "), t.Candidates.Source)
	if t.ShortCircuit.Active {
		p.line("  10 schedule", "%s", t.ShortCircuit.Reason)
	}
	if t.Shortcut != "" {
		p.line("  11 shortcut", "%s", t.Shortcut)
	}
	if m := t.Main; m != nil {
		p.line("  12 main", "%s by %s%s", m.FlowID, m.By, after(m.Rule, ""))
	}
	if n := t.SecondNeed; n.Reason != "" {
		p.line("  13 again?", "%s%s", map[bool]string{true: "yes: ", false: "no: "}[n.Opens], n.Reason)
	}
	if s := t.Second; s != nil {
		p.line("  14 second", "%s, %s (by %s)", s.Family, s.Reason, s.By)
	}
	if t.Centre.Changed {
		p.line("  15 flow", "%s, not %s: %s", t.Centre.To, t.Centre.From, t.Centre.Reason)
	}
	p.line("  16 work", "%s", t.Escape.Reason)
	p.line("  17 cost", "%d model calls%s", t.Usage.ModelCalls, tokensOf(t.Usage))
	if m := d.Model; m != nil {
		p.line("     model", "%s%s", m.Verdict, after(m.Fault, ""))
	}
}

func marks(on map[string]bool) (out string) {
	for name, yes := range on {
		if yes {
			out += ", " + name
		}
	}
	return out
}

func after(parts ...string) (out string) {
	for _, part := range parts {
		if part != "" {
			out += ", " + part
		}
	}
	return out
}

func tokensOf(u turn.Usage) string {
	if u.InputTokens == nil && u.OutputTokens == nil {
		return ""
	}
	return fmt.Sprintf(", tokens %s in, %s out, %d ms", text(u.InputTokens), text(u.OutputTokens), u.LatencyMS)
}

// flagsOf are the flags of the hints that are set, by their names in the trace.
func flagsOf(h turn.Hints) (out []string) {
	var all map[string]any
	if json.Unmarshal([]byte(text(h)), &all) != nil {
		return nil
	}
	for name, v := range all {
		if v == true {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func quoted(span string) string {
	if span == "" {
		return ""
	}
	return "“" + span + "”"
}

func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic("internal error: " + err.Error()) // our own types
	}
	return string(out)
}
