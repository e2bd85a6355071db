package running

import (
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/compile"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// Shortcut answers a turn by what is under way; false: the words are about something else.
type Shortcut struct {
	Name string
	Try  func(turn.Input) (turn.Decision, bool)
}

// Words is the planner that reads a clause, and names what an operation does. It asks no model.
type Words interface {
	Read(in turn.Input) turn.Decision
	Name(method string, params wire.Object, locale string) string
}

// Runner is built once and may be used by several goroutines at once.
type Runner struct {
	cat   *catalog.Catalog
	words Words
}

// New builds it over a catalog.
func New(cat *catalog.Catalog, words Words) *Runner { return &Runner{cat: cat, words: words} }

// Shortcuts are what it answers, in the order in which they are tried.
func (r *Runner) Shortcuts() []Shortcut {
	all := []Shortcut{{"answer", r.answer}, {"hold", r.hold}, {"stop_part", r.stopPart}, {"halt", r.halt}, {"revise", r.revise}, {"status", r.status}}
	for i := range all {
		all[i].Try = meant(all[i].Try)
	}
	return all
}

// meant leaves out words that were not said to the robot, and words that may go on: half a correction is another one.
func meant(try func(turn.Input) (turn.Decision, bool)) func(turn.Input) (turn.Decision, bool) {
	return func(in turn.Input) (turn.Decision, bool) {
		if in.Around.Voice.Withheld() != "" {
			return turn.Decision{}, false
		}
		return try(in)
	}
}

// Looks says whether words change or ask about work that is under way, so that it is worth asking the device how it stands before they are
// answered. What stops or holds something waits for no look.
func (r *Runner) Looks(in turn.Input) bool {
	text := tidy(in.Text)
	if slices.ContainsFunc(say.Halts, func(word string) bool { return strings.Contains(text, word) }) {
		return false
	}
	for _, try := range []func(turn.Input) (turn.Decision, bool){r.revise, r.status} {
		if _, ok := meant(try)(in); ok {
			return true
		}
	}
	return false
}

// home is the catalog with the rooms of the device, where it has reported some.
func (r *Runner) home(in turn.Input) *catalog.Catalog {
	return compile.Home(r.cat, in.Rooms)
}

// subject is what words name: rooms, operations, going somewhere at all, a kind of content. All of it is empty where nothing is known.
type subject struct {
	room   catalog.Room
	named  bool // a room was named
	method []string
	moves  bool
	kind   string
}

func (s subject) nothing() bool { return !s.named && len(s.method) == 0 && !s.moves && s.kind == "" }

// subjectOf reads a noun: "안방", "청정", "안방 청정", "the cleaning", "퀴즈". Words of which a part is not understood name nothing.
func (r *Runner) subjectOf(in turn.Input, x string) (s subject) {
	noun := bare(x)
	if s.kind = kindOf(noun); s.kind != "" {
		return s
	}
	if slices.Contains(say.Moves, key(noun)) {
		return subject{moves: true}
	}
	if room, ok, _ := r.home(in).FindRoom(strings.TrimPrefix(noun, "the ")); ok {
		return subject{room: room, named: true}
	}
	in.Around = turn.Around{}
	for _, text := range asOrders(noun, english(in.Text)) {
		in.Text = text
		d := r.words.Read(in)
		if d.OwnerSelection != turn.ODL || d.AskFollowUp || d.Control != nil || len(d.Steps) == 0 {
			continue
		}
		for _, step := range d.Steps {
			if name := roomParam(r.cat, step.TaskMethod); name != "" {
				said, _ := step.Params[name].V.(string)
				s.room, s.named, _ = r.home(in).FindRoom(said)
				continue
			}
			s.method = append(s.method, step.TaskMethod)
		}
		return s
	}
	return s
}

// asOrders makes orders of a noun: the reader knows nouns by what is to be done with them.
func asOrders(noun string, en bool) []string {
	if en {
		return []string{"start " + noun, "start the " + noun, "check " + noun, "go to the " + noun, noun}
	}
	return []string{noun + " 해줘", noun + " 시작해줘", noun + " 확인해줘", noun + "으로 가", noun}
}

// with makes an input of other words about the same home.
func with(in turn.Input, text string) turn.Input {
	in.Text, in.Around = text, turn.Around{}
	return in
}

// inOrder are the open workflows, the one that is meant where none is named first.
func inOrder(a turn.Around) []turn.Workflow {
	out := slices.Clone(a.Workflows)
	slices.SortStableFunc(out, func(x, y turn.Workflow) int {
		switch {
		case x.WorkflowID == a.Foreground:
			return -1
		case y.WorkflowID == a.Foreground:
			return 1
		}
		return 0
	})
	return out
}

// decided is a decision about work that is under way: of the device, and certain.
func decided(in turn.Input, rule, said, act string) turn.Decision {
	return turn.Decision{TurnMode: "singleton", SelectedRoutes: []turn.Family{turn.ODL}, SelectedFlowID: "ODL.ODL.device_execution_bridge", SelectedAgent: "ODL",
		SelectedSkill: "device_execution_bridge", OwnerSelection: turn.ODL, FamilyConfidence: "high", TTSResponse: said, SpeechAct: act,
		Evidence: []turn.Evidence{{Kind: "rule", ID: rule, Span: in.Text}}}
}
