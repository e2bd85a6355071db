package bridge_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"deviceagent/bridge"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

const docFile = "../docs/contract.md"

// documented are the Go types whose tables stand in the documentation.
var documented = []reflect.Type{
	reflect.TypeFor[wire.Envelope](), reflect.TypeFor[wire.Corr](), reflect.TypeFor[wire.Plan](), reflect.TypeFor[wire.Workflow](), reflect.TypeFor[wire.Origin](), reflect.TypeFor[wire.Schedule](),
	reflect.TypeFor[wire.Request](), reflect.TypeFor[wire.Dependency](), reflect.TypeFor[wire.WaitEvent](), reflect.TypeFor[wire.Retry](),
	reflect.TypeFor[wire.Experience](), reflect.TypeFor[wire.GoalEffect](), reflect.TypeFor[wire.GoalTemporal](), reflect.TypeFor[wire.GoalBudget](),
	reflect.TypeFor[wire.GoalReport](), reflect.TypeFor[wire.GoalEffectReport](),
	reflect.TypeFor[wire.RequiredEffect](), reflect.TypeFor[wire.Condition](), reflect.TypeFor[wire.Control](), reflect.TypeFor[wire.StepResult](),
	reflect.TypeFor[wire.Receipt](), reflect.TypeFor[wire.Ack](), reflect.TypeFor[wire.Fault](), reflect.TypeFor[wire.StepDue](), reflect.TypeFor[wire.Content](), reflect.TypeFor[wire.ContentPayload](), reflect.TypeFor[wire.Part](), reflect.TypeFor[wire.Result](),
	reflect.TypeFor[wire.StepReport](), reflect.TypeFor[wire.Evidence](), reflect.TypeFor[wire.EffectReport](), reflect.TypeFor[wire.Counters](), reflect.TypeFor[wire.TraceEntry](), reflect.TypeFor[wire.TraceBudget](), reflect.TypeFor[wire.PlanDiff](), reflect.TypeFor[wire.Status](), reflect.TypeFor[wire.ModeChange](),
	reflect.TypeFor[wire.Escalation](), reflect.TypeFor[wire.Budget](), reflect.TypeFor[wire.RemainingEffect](), reflect.TypeFor[wire.ContextSeen](), reflect.TypeFor[wire.LastEvent](),
	reflect.TypeFor[wire.Decision](), reflect.TypeFor[wire.Usage](), reflect.TypeFor[wire.UserAsk](), reflect.TypeFor[wire.UserAskOption](),
	reflect.TypeFor[wire.Question](), reflect.TypeFor[wire.QuestionOption](), reflect.TypeFor[wire.Answer](), reflect.TypeFor[wire.OpenWorkflow](), reflect.TypeFor[wire.Room](), reflect.TypeFor[wire.Limits](),
	reflect.TypeFor[wire.Monitor](), reflect.TypeFor[wire.Telemetry](), reflect.TypeFor[wire.WorkflowSeen](), reflect.TypeFor[wire.StepSeen](),
}

// TestDocs holds the tables of docs/contract.md to the Go types and their rules. What a field means is written there by hand and
// stays; a field without a meaning is a fault.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	replace := func(name string, make func(old string) string) {
		begin, end := "<!-- generated:"+name+" -->\n", "<!-- /generated -->"
		before, rest, ok := strings.Cut(doc, begin)
		old, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no place for the table %q", docFile, name)
		}
		doc = before + begin + make(old) + end + after
	}
	for _, typ := range documented {
		replace(typ.Name(), func(old string) string { return fieldTable(t, typ, meanings(old)) })
	}
	replace("refusals", func(string) string { return refusalTable() })
	replace("intake", func(string) string { return intakeTable() })
	if doc == string(text) {
		return
	}
	if !*update {
		t.Fatalf("the tables in %s are not those of the code; write them with: go test ./bridge -run TestDocs -update", docFile)
	}
	if err := os.WriteFile(docFile, []byte(doc), 0o644); err != nil {
		t.Fatal(err)
	}
}

// meanings reads the last column of a table by the name in its first.
func meanings(table string) map[string]string {
	out := map[string]string{}
	for line := range strings.SplitSeq(table, "\n") {
		if cells := strings.SplitN(strings.Trim(line, "| "), " | ", 4); len(cells) == 4 {
			out[strings.Trim(cells[0], "` ")] = strings.TrimSpace(cells[3])
		}
	}
	return out
}

func fieldTable(t *testing.T, typ reflect.Type, means map[string]string) string {
	var b strings.Builder
	b.WriteString("| field | form | needed | meaning |\n| --- | --- | --- | --- |\n")
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if means[name] == "" {
			t.Errorf("%s: %s.%s has no meaning", docFile, typ.Name(), name)
		}
		needed := ""
		if opts == "" {
			needed = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, formOf(f.Type, f.Tag.Get("rule")), needed, means[name])
	}
	return b.String()
}

func formOf(t reflect.Type, rule string) string {
	switch t {
	case reflect.TypeFor[wire.Value]():
		return "any value"
	case reflect.TypeFor[wire.Object]():
		return "object of free values"
	case reflect.TypeFor[*wire.InputFrom]():
		return "object of id → text, or list of ids; not empty"
	case reflect.TypeFor[wire.Dependency]():
		return "id, or `Dependency`"
	case reflect.TypeFor[wire.RequiredEffect]():
		return "id, or `RequiredEffect`"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return formOf(t.Elem(), rule)
	case reflect.Slice:
		return "list of " + formOf(t.Elem(), rule)
	case reflect.Map:
		return "object of " + formOf(t.Elem(), rule)
	case reflect.Struct:
		return "`" + t.Name() + "`"
	case reflect.Bool:
		return "boolean"
	}
	return ruleForm(t, rule)
}

func ruleForm(t reflect.Type, rule string) string {
	text, later, _ := strings.Cut(rule, ";later=")
	kind, arg, _ := strings.Cut(text, "=")
	words := map[string]string{"id": "id", "ref": "id, also with `@`", "target": "id, or two with `/`", "uuid7": "UUIDv7", "sha256": "64 hex digits", "time": "time with a zone",
		"text": "text", "some": "text, not empty", "const": "`" + arg + "`", "enum": quoted(arg), "int": strings.Replace(arg, ":", " to ", 1)}
	form := words[kind]
	switch {
	case form == "" && t.Kind() == reflect.Int64:
		return "0 to 2^53-1"
	case form == "":
		return "text"
	case later != "":
		return form + "; not yet: " + quoted(later)
	}
	return form
}

func quoted(list string) string { return "`" + strings.ReplaceAll(list, "|", "` `") + "`" }

func refusalTable() string {
	var b strings.Builder
	b.WriteString("| `reason_code` | any message | a plan | when |\n| --- | --- | --- | --- |\n")
	for _, r := range bridge.Refusals {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Code, yes(r.Decode), yes(r.Plan), r.Text)
	}
	return b.String()
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// atIntake are the reasons with which the core refuses what was read and checked.
var atIntake = []core.Reason{core.ReasonExpired, core.ReasonClockUntrusted, core.ReasonWrongEpoch, core.ReasonStorageError, core.ReasonLimit, core.ReasonSameRevision,
	core.ReasonOutdatedRevision, core.ReasonAfterCancel, core.ReasonAlreadyTerminal, core.ReasonCancelledBefore, core.ReasonIDReused, core.ReasonSuperseded, core.ReasonUnknownTarget,
	core.ReasonStale, core.ReasonDecisionStale, core.ReasonNotAllowed, core.ReasonUnsupported}

func intakeTable() string {
	var b strings.Builder
	b.WriteString("| `reason_code` | class | when |\n| --- | --- | --- |\n")
	for _, r := range atIntake {
		info := core.InfoOf(r)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", info.Code, info.Class, info.Text)
	}
	return b.String()
}

// TestExamplesOfTheDocsAreAccepted reads every whole message of the documentation.
func TestExamplesOfTheDocsAreAccepted(t *testing.T) {
	text, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for i, part := range strings.Split(string(text), "```json\n") {
		example, _, _ := strings.Cut(part, "```")
		if i == 0 || !strings.HasPrefix(example, `{"v"`) {
			continue
		}
		read++
		if ev, refused := codecOf(t, "").Decode([]byte(example), false).(core.Refused); refused {
			if _, err := wire.Decode([]byte(example), wire.Options{AllowJSON: true, Direction: wire.Up}); err != nil {
				t.Errorf("%s\nis refused: %+v; %v", example, ev.Answer.Faults, err)
			}
		}
	}
	if read < 4 {
		t.Errorf("only %d whole messages in %s", read, docFile)
	}
}

// TestWhatIsNotSupportedIsRefusedByName tries all that docs/contract.md names as not supported.
func TestWhatIsNotSupportedIsRefusedByName(t *testing.T) {
	text, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, _ := strings.Cut(string(text), "## 8. ")
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	for _, tc := range []struct{ name, kind, body string }{
		{"retry", "plan", planBody("", `{"cloud_step_id":"a","execution_target":"cloud","skill":"fresh_information_brief","retry":{"max_attempts":2}}`)},
		{"skill", "plan", planBody("", `{"cloud_step_id":"a","skill":"content_session"}`)},
	} {
		if !strings.Contains(chapter, tc.name) {
			t.Errorf("section 8 of %s does not name %s", docFile, tc.name)
		}
		ev, refused := codecOf(t, "").Decode(message(tc.kind, tc.body), false).(core.Refused)
		if !refused || !strings.Contains(faultLines(ev.Answer.Faults), string(core.ReasonUnsupported)) {
			t.Errorf("%s is not refused as unsupported: %+v", tc.name, ev.Answer.Faults)
		}
	}
}
