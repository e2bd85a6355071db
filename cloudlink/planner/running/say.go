package running

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

//go:embed data/say.json
var sayJSON []byte

// sentence says one thing in each language; {1} is filled in, and {1:이/가} with the particle that its last sound takes.
type sentence struct {
	Ko string `json:"ko"`
	En string `json:"en"`
}

var sentences = func() (s map[string]sentence) {
	if err := json.Unmarshal(sayJSON, &s); err != nil {
		panic("internal error: say.json: " + err.Error()) // it is built in, and tested
	}
	return s
}()

// say1 gives a sentence in the language of the words.
func say1(in turn.Input, name string, args ...string) string {
	s, ok := sentences[name]
	if !ok {
		panic("internal error: no sentence " + name)
	}
	text := s.Ko
	if english(in.Text) {
		text = s.En
	}
	for i, arg := range args {
		text = strings.ReplaceAll(text, fmt.Sprintf("{%d}", i+1), arg)
		for _, p := range particles {
			text = strings.ReplaceAll(text, fmt.Sprintf("{%d:%s/%s}", i+1, p.closed, p.open), arg+p.after(arg))
		}
	}
	return text
}

type particle struct{ closed, open string }

// particles are those of which the form hangs on the sound before them.
var particles = []particle{{"은", "는"}, {"이", "가"}, {"을", "를"}, {"으로", "로"}, {"이에요", "예요"}, {"'이라고", "'라고"}}

// rieul is the place of ㄹ among the final sounds: 로 follows it too.
const rieul = 8

func (p particle) after(word string) string {
	letters := []rune(word)
	if len(letters) == 0 {
		return p.open
	}
	last := letters[len(letters)-1]
	if last < '가' || last > '힣' {
		return p.open
	}
	if final := (last - '가') % 28; final != 0 && !(p.open == "로" && final == rieul) {
		return p.closed
	}
	return p.open
}

// localeOf is the language in which is answered: that of the words.
func localeOf(in turn.Input) string {
	if english(in.Text) {
		return "en-US"
	}
	return "ko-KR"
}

// nameOf is what a step of a plan is called.
func (r *Runner) nameOf(in turn.Input, plan wire.Plan, step string) string {
	for _, q := range plan.Requests {
		if q.CloudStepID == step {
			return r.called(in, q)
		}
	}
	return step
}

func (r *Runner) called(in turn.Input, q wire.Request) string {
	locale := localeOf(in)
	if q.TaskMethod == "" {
		kind, _ := q.Params["kind"].V.(string)
		if text, ok := sentences["kind_"+kind]; ok && locale == "ko-KR" {
			return text.Ko
		} else if ok {
			return text.En
		}
		return say1(in, "told")
	}
	params := q.Params
	if name := roomParam(r.cat, q.TaskMethod); name != "" {
		said, _ := q.Params[name].V.(string)
		if room, ok, _ := r.home(in).FindRoom(said); ok {
			params = wire.Object{}
			for k, v := range q.Params {
				params[k] = v
			}
			params[name] = wire.Value{V: roomCalled(room.Name, room.Aliases, locale)}
		}
	}
	if name := r.words.Name(q.TaskMethod, params, locale); name != "" {
		return name
	}
	return q.TaskMethod
}

// roomCalled is the name of a room in a language: its own, or the first of its aliases that is in that language.
func roomCalled(name string, aliases []string, locale string) string {
	for _, n := range append([]string{name}, aliases...) {
		if english(n) == (locale == "en-US") {
			return n
		}
	}
	return name
}

// wished is what comes in the place of something else, as it is said back.
func (r *Runner) wished(in turn.Input, w wish) string {
	if w.named {
		return roomCalled(w.room.Name, w.room.Aliases, localeOf(in))
	}
	if len(w.steps) == 0 {
		return ""
	}
	return r.called(in, wire.Request{TaskMethod: w.steps[0].TaskMethod, Params: w.steps[0].Params})
}

// roomsOf lists where ways lead, to choose from.
func (r *Runner) roomsOf(in turn.Input, ways []wire.Request) string {
	var names []string
	for _, q := range ways {
		said, _ := q.Params[roomParam(r.cat, q.TaskMethod)].V.(string)
		room, _, _ := r.home(in).FindRoom(said)
		names = append(names, roomCalled(room.Name, room.Aliases, localeOf(in)))
	}
	return strings.Join(names, ", ")
}

// stepsOf shows the requests of a plan as steps.
func (r *Runner) stepsOf(in turn.Input, plan wire.Plan) (out []turn.Step) {
	for _, q := range plan.Requests {
		s := turn.Step{ID: q.CloudStepID, Route: turn.ODL, Purpose: r.called(in, q), ExecutionTarget: q.ExecutionTarget, TaskMethod: q.TaskMethod, Skill: q.Skill,
			Params: q.Params, DependsOn: q.DependsOn, WaitPolicy: q.WaitPolicy, TemporalRelation: q.TemporalRelation, TemporalAnchorID: q.TemporalAnchorID,
			DelayMS: q.DelayMS, OutputKey: q.OutputKey, InputFrom: q.InputFrom, When: q.When, AnchorEvent: q.AnchorEvent, TimeoutMS: q.TimeoutMS}
		if s.ExecutionTarget == "" {
			s.ExecutionTarget = "device"
		}
		for _, e := range q.RequiredEffects {
			s.RequiredEffects = append(s.RequiredEffects, e.EffectID)
		}
		out = append(out, s)
	}
	return out
}
