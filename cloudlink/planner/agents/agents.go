package agents

import (
	"cmp"
	"context"
	"strings"
	"time"
)

// The skills. Source: skills.json of the catalog.
const (
	SkillBrief   = "fresh_information_brief"
	SkillContent = "content_session"
	SkillRest    = "rest_guidance"
)

// Why something could not be told. They go to the device as reason_code of a step_result.
const (
	ReasonMissing     = "source_missing"     // nothing is configured for it
	ReasonUnreachable = "source_unreachable" // no connection, or one to where it may not go
	ReasonLate        = "source_late"
	ReasonFailed      = "source_failed" // it refused, or has a fault of its own
	ReasonBusy        = "source_busy"
	ReasonUnreadable  = "source_unreadable" // no feed, no JSON, too large, or values that cannot be
	ReasonStale       = "source_stale"      // nothing new, or not about the day that was asked for
	ReasonNotFound    = "nothing_found"
	ReasonPlace       = "unknown_place"
	ReasonDay         = "unknown_day"
	ReasonSkill       = "unknown_skill"
	ReasonNoDocument  = "no_document"
	ReasonNoDocuments = "no_documents"
)

// Task is one cloud step that is due.
type Task struct {
	Skill  string
	Inputs map[string]any // params of the step, and what input_from filled in
	Locale string         // ko-KR, en-US
	Now    time.Time      // in the zone of the home
	Tells  bool           // it is told on the robot; else only its output is wanted
	Memory Memory         // of the device
	Likes  []string       // what people of the home said that they like, in their words
}

func (t Task) text(name string) string {
	v, _ := t.Inputs[name].(string)
	return strings.TrimSpace(v)
}

// Outcome is what became of a task.
type Outcome struct {
	Text        string         // the whole in plain sentences; where Reason is set, why not
	Words       []Words        // the same as a session tells it, in order; the last one is Last unless Talk goes on
	Output      map[string]any // for steps that take it from here
	RetrievedAt time.Time      // when it was looked up; zero: nothing was
	Reason      string         // not empty: it could not be done
	Talk        *Talk          // a session that goes on; nil: Words are all of it
	Memory      *Memory        // of the device from now on; nil: as it was
}

// Words are one thing that a session says.
type Words struct {
	Verb string // of the session; empty: it is said
	Text string
	Act  string // ack progress question done failed
	Last bool   // the session ends when it was heard
}

// Agents carry out tasks. They are built once and may be used by several goroutines at once.
type Agents struct {
	fetch   *fetcher
	sources Sources
	library *library
	content *content
}

// New builds them. Errors: a source whose address cannot be used.
func New(src Sources) (*Agents, error) {
	if err := src.Validate(); err != nil {
		return nil, err
	}
	return &Agents{fetch: newFetcher(src), sources: src, library: newLibrary(src.Documents), content: ownContent()}, nil
}

// Do carries out one task. It returns at the latest when ctx ends, and never fails: what is missing is in the outcome.
func (a *Agents) Do(ctx context.Context, t Task) Outcome {
	out := a.do(ctx, t)
	if out.Reason != "" && out.Text == "" {
		out.Text = say(t.Locale, out.Reason)
	}
	switch {
	case len(out.Words) > 0 || out.Text == "":
	case out.Reason != "":
		out.Words = []Words{{Text: out.Text, Act: "failed", Last: true}}
	default:
		out.Words = []Words{{Text: out.Text, Act: "done", Last: true}}
	}
	return out
}

func (a *Agents) do(ctx context.Context, t Task) Outcome {
	switch t.Skill {
	case SkillBrief:
		return a.brief(ctx, t)
	case SkillContent:
		return a.tell(ctx, t)
	case SkillRest:
		return a.rest(t)
	}
	return Outcome{Reason: ReasonSkill}
}

// tell opens a content session: of the kind that is named, or was chosen a moment ago, or that the words are about, else a story.
func (a *Agents) tell(ctx context.Context, t Task) Outcome {
	kind := t.text("kind")
	chosen, memory := t.Memory.takeChoice(t.Now)
	t.Memory = memory
	if kind == "" {
		kind = cmp.Or(chosen, KindOf(t.text("title")+" "+t.text("query")+" "+t.text("purpose")), kindStory)
	}
	var out Outcome
	switch kind {
	case kindQuiz:
		out = a.content.beginQuiz(t)
	case kindStory:
		out = a.content.beginStory(t)
	case kindReminder:
		out = beginReminder(t)
	case kindNews:
		t.Inputs = map[string]any{"topic": kindNews}
		out = a.news(ctx, t)
	default:
		out = Outcome{Reason: ReasonSkill, Text: say(t.Locale, "no_content")}
	}
	if out.Memory == nil {
		out.Memory = &memory
	}
	return out
}

// brief tells what is outside and changes.
func (a *Agents) brief(ctx context.Context, t Task) Outcome {
	if t.topic() == "weather" {
		return a.weather(ctx, t)
	}
	return a.news(ctx, t)
}

// topic is what a brief is about. A step that names none is about what its words say.
func (t Task) topic() string {
	if topic := t.text("topic"); topic != "" {
		return topic
	}
	return TopicOf(t.text("query") + " " + t.text("purpose"))
}

// rest is what DEF tells: how to rest, a notice, an answer about the product, or what earlier steps have found.
func (a *Agents) rest(t Task) Outcome {
	switch t.text("kind") {
	case "notice":
		if text := clean(t.text("text"), spokenRunes); text != "" {
			return Outcome{Text: text, Output: map[string]any{"text": text}}
		}
		return Outcome{Reason: ReasonNotFound, Text: say(t.Locale, "compose_nothing")}
	case kindChoices:
		return beginChoices(t)
	case "product_answer":
		return a.library.answer(t.text("query"), t.Locale)
	case "compose":
		return compose(t)
	}
	return a.content.rest(t)
}

// compose tells what earlier steps brought: every text among the inputs, in the order of their names.
func compose(t Task) Outcome {
	var parts []string
	for _, name := range sortedKeys(t.Inputs) {
		if name == "kind" || name == "purpose" {
			continue
		}
		if text := clean(t.text(name), spokenRunes); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return Outcome{Reason: ReasonNotFound, Text: say(t.Locale, "compose_nothing")}
	}
	text := clean(strings.Join(parts, " "), composedRunes)
	return Outcome{Text: text, Output: map[string]any{"text": text}}
}

// composedRunes bounds what several steps have brought: together it has to be one word of a session. Source: docs/contract.md, content.
const composedRunes = 1200
