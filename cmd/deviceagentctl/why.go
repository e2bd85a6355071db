package main

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
)

func (a *app) whyCmd() *cobra.Command {
	return &cobra.Command{Use: "why ID[/STEP]", Short: "The chain of facts behind the present state", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		id, step := split(args[0])
		path := workflowPath(id) + "/why"
		if step != "" {
			path += "/" + url.PathEscape(step)
		}
		rep, err := a.client.Get(cmd.Context(), path, nil)
		if err != nil {
			return err
		}
		return emit(a, rep, func(doc diag.WhyDocument, _ diag.AsOf) error { return a.whyPage(doc, step != "") })
	}}
}

// wentWell are the ends that need no explanation unless somebody asks for the step.
var wentWell = []string{"completed", "satisfied"}

func (a *app) whyPage(doc diag.WhyDocument, asked bool) error {
	told, ended := 0, 0
	for _, s := range doc.Steps {
		if s.Facts[0].Kind == "end" {
			ended++
		}
		if !asked && contains(wentWell, s.State) {
			continue
		}
		told++
		a.whyStep(s)
	}
	if told == 0 {
		a.page.line("%s", tongue(a.lang).say("why.done", doc.Workflow, doc.State, ended, len(doc.Steps)))
	}
	return nil
}

func (a *app) whyStep(s diag.WhyStep) {
	l, p := tongue(a.lang), a.page
	head := l.say("why", s.Step, p.paint(s.State))
	if s.Reason != "" {
		head = l.say("why.reason", s.Step, p.paint(s.State), s.Reason)
	}
	p.line("%s   (%s)", head, duration(s.Since.AgeMS))
	n := 0
	for _, f := range s.Facts {
		proof := f.Kind == "evidence" && f.RefKind != "effect"
		if !proof {
			n++
			p.line("%3d. %s", n, l.fact(f, s.State, s.Reason))
		}
		switch {
		case f.RefKind == "key":
			p.line("       %s", a.keyLine(f))
			if f.RefState != "fresh" && f.Kind == "context" {
				p.line("       %s", l.say("unknown.no"))
			}
		case proof:
			text := pad(clean(f.Ref), 24) + "  " + l.fact(f, s.State, s.Reason)
			if f.AgeMS != nil {
				text += fmt.Sprintf("   age %s   source %s", duration(*f.AgeMS), clean(orText(f.Source, "not reported")))
			}
			p.line("       %s", text)
		}
	}
}

// keyLine tells what is known of a key, and what is wanted of it.
func (a *app) keyLine(f diag.Fact) string {
	text := pad(clean(f.Ref), 24) + "  "
	switch {
	case f.AgeMS == nil:
		text += a.page.paint(f.RefState)
	default:
		text += fmt.Sprintf("%s   age %s   source %s   %s", value(f.Value), duration(*f.AgeMS), clean(orText(f.Source, "not reported")), a.page.paint(f.RefState))
	}
	if f.BoundMS != nil {
		text += fmt.Sprintf(" (bound %s)", duration(*f.BoundMS))
	}
	if f.Want != nil {
		text += fmt.Sprintf("   wanted: %s %s", f.Want.Op, value(f.Want.Value))
	}
	return text
}
