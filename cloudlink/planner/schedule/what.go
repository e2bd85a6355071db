package schedule

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// Reminder is the function of a schedule that tells something and does nothing else.
const Reminder = "reminder"

// Skill is the content skill by which a reminder is spoken; kind says so to who tells it.
const (
	Skill        = "content_session"
	briefSkill   = "fresh_information_brief"
	reminderMS   = 15 * 60 * 1000 // that a reminder has, with its repeats
	durationName = "duration_min"
	overEnd      = 10 // minutes that something would go on if the schedule's end did not stop it
)

// task is what is to be done at the time.
type task struct {
	function string // operation of its first step that does something, or Reminder
	steps    []turn.Step
	what     string // in words for people
	ack      string // what will be done, as a sentence
	text     string // of a reminder
	request  string // the words, to be read again
	doubt    *turn.Decision
	known    bool
	refused  string // why it cannot be kept for a time
}

// embedded are the verb endings before "예약해 줘", with what stands for them when the verb is said alone.
var embedded = []struct{ from, to string }{
	{"하도록", "해 줘"}, {"하게", "해 줘"}, {"하는 걸로", "해 줘"}, {"하는걸로", "해 줘"}, {"하는", "해 줘"}, {"하기", "해 줘"}, {"하라고", "해 줘"},
	{"끄도록", "꺼 줘"}, {"끄게", "꺼 줘"}, {"끄는 걸로", "꺼 줘"}, {"끄는", "꺼 줘"}, {"끄기", "꺼 줘"}, {"켜도록", "켜 줘"}, {"켜게", "켜 줘"}, {"켜는 걸로", "켜 줘"}, {"켜는", "켜 줘"}, {"켜기", "켜 줘"},
	{"가도록", "가 줘"}, {"가게", "가 줘"}, {"가는 걸로", "가 줘"}, {"가는", "가 줘"}, {"가기", "가 줘"}, {"오도록", "와 줘"}, {"오게", "와 줘"},
	{"멈추도록", "멈춰 줘"}, {"멈추게", "멈춰 줘"}, {"맞추도록", "맞춰 줘"}, {"맞추게", "맞춰 줘"}, {"알려주도록", "알려 줘"}, {"알려주게", "알려 줘"},
}

// request is what a sentence asks to be done, as it would be said of now: "거실 청정하도록 예약해 줘" is "거실 청정해 줘".
func (s *said) request() string {
	if s.english {
		return s.requestEnglish()
	}
	text := s.rest
	cut, _, verb := cutEnd(text, korean.SetVerbs)
	cut = trimParticle(cut)
	before, noun, found := cutEnd(cut, korean.Nouns)
	if !found || !verb && noun == "" {
		before, _, found = cutEnd(trimParticle(text), korean.Nouns)
	}
	if !found {
		return text
	}
	before = trimParticle(before)
	for _, e := range embedded {
		if r, ok := strings.CutSuffix(before, e.from); ok {
			return strings.TrimSpace(r + e.to)
		}
	}
	return strings.TrimSpace(before)
}

// trimParticle takes an object particle off the end, where a word of two syllables at least is left.
func trimParticle(text string) string {
	text = strings.TrimSpace(text)
	for _, p := range []string{"을", "를", "으로", "로"} {
		if r, ok := strings.CutSuffix(text, p); ok && len([]rune(lastWords(r, 1))) >= 2 {
			return strings.TrimSpace(r)
		}
	}
	return text
}

func (s *said) requestEnglish() string {
	text := s.rest
	for _, frame := range []string{"schedule a ", "schedule an ", "schedule the ", "schedule ", "set a schedule for ", "set a schedule to ", "set up ", "please "} {
		text = strings.TrimPrefix(text, frame)
	}
	for _, tail := range []string{" on schedule", " on a schedule", " please"} {
		text = strings.TrimSuffix(text, tail)
	}
	return strings.TrimSpace(text)
}

// taskOf reads what is to be done. What is asked to be told as a reminder is one; all else is a reading of the main planner's rules, and
// what they cannot read but is to be told is a reminder too.
func (b *Book) taskOf(in turn.Input, s *said) task {
	if text, ok := s.reminder(); ok {
		return remind(text, s.english)
	}
	t := b.taskIn(in, s.request(), s.english)
	if text, ok := s.told(); ok && !t.known {
		return remind(text, s.english)
	}
	return t
}

// taskIn reads words as an order of now. The words that fit first count: as they are, as a noun with its verb.
func (b *Book) taskIn(in turn.Input, request string, en bool) task {
	if request == "" {
		return task{}
	}
	forms := []string{request}
	if len(strings.Fields(request)) > 5 { // more than the name of something to be done
	} else if !en {
		forms = append(forms, request+" 해 줘", request+" 켜 줘")
	} else {
		forms = append(forms, "start "+request, "turn on "+request)
	}
	t := task{request: request}
	for _, form := range forms {
		now := in
		now.Text, now.Around = form, turn.Around{}
		d := b.read(now)
		if form == request && d.OwnerSelection == turn.FRG && len(d.Steps) == 0 && !d.AskFollowUp {
			return brief(request, en)
		}
		if !slices.Contains([]turn.Family{turn.ODL, turn.STM, turn.FRG}, d.OwnerSelection) || d.Control != nil {
			continue
		}
		if d.AskFollowUp {
			if t.doubt == nil && len(d.MissingSlots) > 0 {
				t.doubt = &d
			}
			continue
		}
		if len(d.Steps) == 0 || len(d.Refused) > 0 || d.FamilyConfidence != "high" {
			continue
		}
		return b.taken(d, form, request)
	}
	return t
}

// taken makes a task of the steps for now.
func (b *Book) taken(d turn.Decision, form, request string) task {
	t := task{request: request, steps: d.Steps, ack: d.TTSResponse, known: true, doubt: nil}
	var names []string
	for _, st := range d.Steps {
		names = append(names, st.Purpose)
		op := b.cat.Operations[catalog.Method(st.TaskMethod)]
		if st.ExecutionTarget != "cloud" && !op.Schedulable {
			t.refused = st.Purpose
		}
		if st.TaskMethod == "" {
			t.function = cmp.Or(t.function, st.Skill)
			continue
		}
		if t.function == "" || b.cat.Operations[catalog.Method(t.function)].MovesBody {
			t.function = st.TaskMethod // the way there is not what it is about
		}
	}
	t.what = strings.Join(names, ", ")
	return t
}

// brief is the task of looking something up at the time and telling it.
func brief(request string, en bool) task {
	what := request
	for _, end := range []string{"줘", "주세요", "알려", "해", "들려", "말"} {
		what = strings.TrimSpace(strings.TrimSuffix(what, end))
	}
	t := task{request: request, function: briefSkill, what: what, known: true, ack: "'" + what + "' 내용을 찾아 들려드릴게요."}
	if en {
		t.ack = "OK, I will look it up and tell you."
	}
	t.steps = []turn.Step{{ID: "step_1", Route: turn.FRG, Purpose: what, ExecutionTarget: "cloud", Skill: briefSkill, WaitPolicy: "completed",
		Params: wire.Object{"query": wire.Value{V: request}}, Span: request}}
	return t
}

// until makes what lasts last until the schedule's end and a little longer: the end is then the schedule's stop with its evidence, and
// not a timer that runs out at the same moment. What the words themselves time stays.
func (b *Book) until(steps []turn.Step, s wire.Schedule) []turn.Step {
	lasts := window(s)
	if lasts == 0 {
		return steps
	}
	out := slices.Clone(steps)
	for i, st := range out {
		p, takes := b.cat.Operations[catalog.Method(st.TaskMethod)].Params[durationName]
		if _, said := st.Params[durationName]; !takes || said || p.Maximum == nil {
			continue
		}
		params := wire.Object{durationName: wire.Value{V: min(*p.Maximum, float64(lasts+overEnd))}}
		for name, v := range st.Params {
			params[name] = v
		}
		out[i].Params = params
	}
	return out
}

// reminder is what is to be told, and whether the sentence asks to be told at all.
func (s *said) reminder() (string, bool) {
	if s.english {
		return s.reminderEnglish()
	}
	text := s.rest
	if Has(text, korean.Wake) {
		return "일어날 시간이에요.", true
	}
	for _, quote := range []string{"이라고", "라고", "다고", "자고"} {
		before, after, ok := strings.Cut(text, quote)
		if behind := toldFirst.FindStringSubmatch(text); behind != nil && strings.HasSuffix(behind[2], quote) { // "알려 줘, 라면 불 끄라고"
			before, after, ok = strings.TrimSuffix(behind[2], quote), behind[1], true
		}
		if ok && (Has(after, korean.Told) || s.when.anything() && justSay.MatchString(after)) && strings.TrimSpace(before) != "" {
			return strings.TrimSpace(before) + quote + " 알려 달라고 하셨어요.", true
		}
	}
	before, ok := s.setDown(text)
	if strings.TrimSpace(before) == "" && strings.Contains(text, "타이머") {
		return "타이머가 끝났어요.", ok
	}
	return noun(before), ok
}

// toldFirst is the wish to be told, with what is to be told behind it.
var toldFirst = regexp.MustCompile(`^((?:알려|말해|얘기해|이야기해|일러) ?(?:줘|줘요|주세요|줄래|줄래요|주라)) (.+(?:라고|다고|자고))$`)

// justSay is 하다 where it stands for telling: "약 먹으라고 해 줘".
var justSay = regexp.MustCompile(`^ ?(?:좀 )?해 ?(?:줘|줘요|주세요|줄래|줄래요|주라)?$`)

// setDown is what stands before the noun of a reminder behind which nothing is said but that it is to be set: "회의 일정 캘린더에 추가해 줘".
func (s *said) setDown(text string) (before string, ok bool) {
	at := -1
	for _, n := range korean.Reminders {
		if i := strings.LastIndex(text, n); i+len(n) > at && i >= 0 {
			at = i + len(n)
		}
	}
	if at < 0 {
		return "", false
	}
	for _, f := range strings.Fields(text[at:]) {
		if !slices.ContainsFunc(korean.SetWords, func(w string) bool { return strings.HasPrefix(f, w) }) {
			return s.announced(text[at:], text[:at])
		}
	}
	before = text[:at]
	for range 3 {
		cut, _, found := cutEnd(trimParticle(before), korean.Reminders)
		if !found {
			break
		}
		before = strings.TrimSuffix(strings.TrimSpace(cut), "에")
	}
	return before, true
}

// announced is what stands behind "일정 등록:".
func (s *said) announced(behind, noun string) (string, bool) {
	first, rest, more := strings.Cut(strings.TrimLeft(behind, " :"), " ")
	set := slices.Contains([]string{"등록", "추가", "등록:", "추가:"}, first)
	_, _, bare := cutEnd(noun, korean.Reminders)
	return strings.TrimSpace(rest), set && more && bare && len(strings.Fields(noun)) == 1
}

// told is what is to be told by a sentence that names no reminder: "회의 알려 줘".
func (s *said) told() (string, bool) {
	if s.english {
		return "", false
	}
	cut, _, _ := cutEnd(s.rest, []string{"줘", "주세요", "줄래", "줘요", "주라", "줄래요", "달라고", "주실래요"})
	before, _, told := cutEnd(cut, []string{"알려", "말해", "얘기해", "이야기해", "리마인드해", "상기시켜"})
	if !told || !s.when.anything() {
		return "", false
	}
	for _, tail := range []string{"잊지 않게", "잊지않게", "안 잊게", "까먹지 않게", "하게", "하도록"} {
		before = strings.TrimSuffix(before, tail)
	}
	return noun(trimParticle(before)), true
}

// noun makes a sentence of what is to be told.
func noun(what string) string {
	what = trimParticle(strings.TrimSuffix(strings.TrimSpace(what), "하는 거"))
	if what == "" {
		return "알려 드릴 시간이에요."
	}
	return what + " 시간이에요."
}

func (s *said) reminderEnglish() (string, bool) {
	text := s.rest
	switch {
	case strings.Contains(text, "wake me"):
		return "It is time to get up.", true
	case strings.Contains(text, "remind me "):
		_, what, _ := strings.Cut(text, "remind me ")
		return "It is time " + what + ".", what != ""
	case Has(text, []string{"alarm", "reminder", "remindme"}):
		return "It is time.", true
	}
	return "", false
}

// remind is the task of telling something.
func remind(text string, en bool) task {
	t := task{function: Reminder, text: text, what: label(text), known: true, ack: "'" + text + "' 하고 알려 드릴게요."}
	if en {
		t.what, t.ack = "reminder: "+strings.TrimSuffix(text, "."), "OK, I will say: '"+text+"'"
	}
	t.steps = []turn.Step{{ID: "step_1", Route: turn.SCH, Purpose: t.what, ExecutionTarget: "cloud", Skill: Skill, WaitPolicy: "completed",
		Params: wire.Object{"kind": wire.Value{V: Reminder}, "text": wire.Value{V: text}}, TimeoutMS: reminderMS, Span: text}}
	return t
}

// label names a reminder in a list.
func label(text string) string {
	if what, ok := strings.CutSuffix(text, " 알려 달라고 하셨어요."); ok {
		return "'" + what + "' 알림"
	}
	what, ok := strings.CutSuffix(text, " 시간이에요.")
	switch {
	case what == "일어날":
		return "기상 알림"
	case what == "알려 드릴":
		return "알림"
	case ok:
		return what + " 알림"
	}
	return "'" + text + "' 알림"
}
