package core

import (
	"cmp"
	"maps"
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// Session is content that the robot tells: a story, a quiz, the news. It is opened by a cloud step whose effects are a content skill's,
// and it has a life of its own: what it has begun goes on when its step has completed, and when its workflow has ended. It is durable;
// a *Session is immutable once it is in the state. Source: docs/experience.md, content sessions.
type Session struct {
	ID         TaskID       `json:"id"` // the task of the step's attempt
	No         int64        `json:"no"` // order of opening
	Workflow   WorkflowID   `json:"workflow"`
	Step       StepID       `json:"step"`
	Experience string       `json:"experience,omitempty"`
	Skill      string       `json:"skill"`
	State      SessionState `json:"state"`
	Reason     Reason       `json:"reason,omitempty"`
	Since      Instant      `json:"since"`
	DueMS      int64        `json:"due_ms,omitempty"`  // when its step became due, by the time that messages are judged by; 0: nobody knew it
	Seq        int64        `json:"seq,omitempty"`     // highest sequence of its content that was applied
	Started    bool         `json:"started,omitempty"` // something of it was heard: content.started
	MaySpeak   bool         `json:"may_speak,omitempty"`
	LastGiven  bool         `json:"last_given,omitempty"` // its last words are there, or were said
	LookedMS   int64        `json:"looked_ms,omitempty"`  // when what it tells was looked up, as the planner said last
	Queue      []Words      `json:"queue,omitempty"`      // what is being said, and what is to be said; replaced, never written in place
	Given      int64        `json:"given,omitempty"`      // words that it was given
	Spoken     int64        `json:"spoken,omitempty"`     // words aloud that it was given
	Position   int64        `json:"position,omitempty"`   // words that were heard to their end
	Out        bool         `json:"out,omitempty"`        // the first of the queue is with the mouth
	Voice      Instant      `json:"voice,omitempty"`      // since when somebody talks over it, or has silenced it
	Quiet      Instant      `json:"quiet,omitempty"`      // since when it has nothing to say
	Told       bool         `json:"told,omitempty"`       // that it has nothing to say
	Waits      Instant      `json:"waits,omitempty"`      // how long an occurrence waits for the planner, before it tells what it has
	Own        bool         `json:"own,omitempty"`        // it tells what came with its schedule: the planner comes too late
}

// SessionState says how far a session is.
type SessionState string

// The states of a session. The last three are terminal.
const (
	SessionStarting  SessionState = "starting" // nothing of it was heard yet
	SessionActive    SessionState = "active"
	SessionPaused    SessionState = "paused" // somebody holds it, or talks
	SessionCompleted SessionState = "completed"
	SessionCancelled SessionState = "cancelled"
	SessionFailed    SessionState = "failed"
)

// Terminal says whether nothing can follow.
func (s SessionState) Terminal() bool {
	return s == SessionCompleted || s == SessionCancelled || s == SessionFailed
}

// Words are one thing that a session says or shows.
type Words struct {
	No    int64  `json:"no"`
	Way   Way    `json:"way"`
	Text  string `json:"text"`
	First bool   `json:"first,omitempty"`
	Last  bool   `json:"last,omitempty"`
	Fresh bool   `json:"fresh,omitempty"`
	Part  int64  `json:"part,omitempty"` // of what came with the schedule: its place, from 1
}

// Bounds of sessions. Source: docs/contract.md, content.
const (
	maxSessions  = 64      // open ones
	maxEnded     = 16      // ended ones that are remembered, so that late content is told so
	maxWordsOf   = 16      // that a session is given ahead
	silenceMS    = 300_000 // of a session that has nothing to say: then the planner is told; after as long again it ends
	ownContentMS = 10_000  // that an occurrence waits for the planner
)

// Events of content that the core itself makes, of what the robot's voice and the user do.
const (
	contentStarted   catalog.EventName = "content.started"
	contentCompleted catalog.EventName = "content.completed"
	contentCancelled catalog.EventName = "content.cancelled"
	contentResponse  catalog.EventName = "content.user_response"
	voiceInterrupted catalog.EventName = "voice.interrupted"
	voiceEnded       catalog.EventName = "voice.session_ended"
)

// SessionsByAge lists the sessions, open and ended, in the order of opening.
func (s *State) SessionsByAge() []*Session {
	return slices.SortedFunc(maps.Values(s.Sessions), func(a, b *Session) int { return cmp.Compare(a.No, b.No) })
}

// AdoptSession puts a session that was read from the store back into the state.
func (s *State) AdoptSession(ses *Session) {
	if s.Sessions == nil {
		s.Sessions = map[TaskID]*Session{}
	}
	s.Sessions[ses.ID] = ses
}

// session reads a session as this reduction has left it; nil: it is not known.
func (w *work) session(id TaskID) *Session {
	if s, now := w.ch.sessions[id]; now {
		return s
	}
	return w.cur.Sessions[id]
}

// openSession gives a copy of a session that is not terminal, to be written; nil where there is none.
func (w *work) openSession(id TaskID) *Session {
	s := w.session(id)
	if s == nil || s.State.Terminal() {
		return nil
	}
	if _, now := w.ch.sessions[id]; !now {
		own := *s
		own.Queue = slices.Clone(s.Queue)
		s = &own
		w.putSession(s)
	}
	w.touched, w.ch.Must = true, true
	return s
}

func (w *work) putSession(s *Session) {
	if w.ch.sessions == nil {
		w.ch.sessions = map[TaskID]*Session{}
	}
	w.ch.sessions[s.ID] = s
	w.touched, w.ch.Must = true, true
}

// sessions lists the sessions that are not terminal, in the order of opening.
func (w *work) sessions() []TaskID {
	if len(w.cur.Sessions)+len(w.ch.sessions) == 0 {
		return nil
	}
	var open []*Session
	for id := range w.cur.Sessions {
		if s := w.session(id); s != nil && !s.State.Terminal() {
			open = append(open, s)
		}
	}
	for id, s := range w.ch.sessions {
		if w.cur.Sessions[id] == nil && s != nil && !s.State.Terminal() {
			open = append(open, s)
		}
	}
	slices.SortFunc(open, func(a, b *Session) int { return cmp.Compare(a.No, b.No) })
	ids := make([]TaskID, len(open))
	for i, s := range open {
		ids[i] = s.ID
	}
	return ids
}

// tells says whether a step is proven by what a session tells: then its dispatch opens one.
func (w *work) tells(spec *StepSpec) bool {
	_, voice := w.voice(Aloud)
	return spec.Target == OnCloud && len(spec.Effects) > 0 && w.cat.Skills[catalog.SkillID(spec.Skill)].Content && voice
}

// beginSession opens the session of an attempt of a cloud step. It says nothing before content comes.
func (w *work) beginSession(wf *Workflow, i int, task TaskID) bool {
	spec := &wf.Plan.Steps[i]
	if !w.tells(spec) || len(w.sessions()) >= maxSessions {
		return false
	}
	s := &Session{ID: task, No: w.dev.TaskNo, Workflow: wf.Plan.Workflow, Step: spec.ID, Skill: spec.Skill, State: SessionStarting, Since: w.now.Boot, DueMS: w.judging(false)}
	if wf.Plan.Goal != nil {
		s.Experience = wf.Plan.Goal.Experience
	}
	if wf.Plan.Template != "" {
		s.Waits = w.now.Boot + ownContentMS
	}
	w.putSession(s)
	w.forgetEnded()
	return true
}

// forgetEnded lets go of the oldest sessions that have ended.
func (w *work) forgetEnded() {
	var ended []*Session
	for id := range w.cur.Sessions {
		if s := w.session(id); s != nil && s.State.Terminal() {
			ended = append(ended, s)
		}
	}
	slices.SortFunc(ended, func(a, b *Session) int { return cmp.Compare(a.No, b.No) })
	for _, s := range ended[:max(0, len(ended)-maxEnded)] {
		w.ch.sessions[s.ID] = nil
	}
}

// owner of the words of a session.
func (s *Session) owner() Owner { return Owner{ForSession, string(s.ID)} }

// stepOf finds the step that a session tells for, for writing; nil where its workflow is gone, or the step has moved on to another attempt.
func (w *work) stepOf(s *Session) (*Workflow, int) {
	wf := w.wf(s.Workflow)
	if wf == nil {
		return nil, -1
	}
	i := wf.Plan.Lookup(s.Step)
	if i < 0 || wf.Steps[i].Task != s.ID {
		return nil, -1
	}
	return wf, i
}

// live says whether the step of a session has not ended.
func (w *work) live(s *Session) (*Workflow, int, bool) {
	wf, i := w.stepOf(s)
	return wf, i, wf != nil && !wf.Steps[i].State.Terminal()
}

// heldSession names the hold that keeps a session from speaking; false: nobody holds it. The guards of the device are about what moves.
func (w *work) heldSession(s *Session) bool {
	reaches := func(h Hold) bool {
		switch h.Scope {
		case HoldAll:
			return !h.guards()
		case HoldSession:
			return h.Target == string(s.ID)
		case HoldExperience:
			return s.Experience != "" && h.Target == s.Experience
		case HoldWorkflow:
			return h.Target == string(s.Workflow)
		case HoldStep:
			return h.Target == string(s.Workflow)+"/"+string(s.Step)
		}
		return false
	}
	if slices.ContainsFunc(w.dev.Holds, reaches) {
		return true
	}
	wf := w.peek(s.Workflow)
	return wf != nil && !wf.State.Terminal() && slices.ContainsFunc(wf.Holds, reaches)
}

// steerSessions brings every session in line with who holds it and who talks, and has the next of its words said.
func (w *work) steerSessions() {
	for _, id := range w.sessions() {
		w.steerSession(w.session(id))
	}
}

func (w *work) steerSession(s *Session) {
	halted := s.Voice != 0 || w.heldSession(s)
	switch {
	case halted && s.State != SessionPaused:
		s = w.openSession(s.ID)
		w.hush(s.owner()) // what was being said is said again from its beginning
		s.Out, s.Quiet = false, 0
		w.moveSession(s, SessionPaused)
		if wf, i, live := w.live(s); live && wf.Steps[i].State == Running && wf.Steps[i].RunDue != 0 {
			wf.Steps[i].LeftMS, wf.Steps[i].dirty = max(1, int64(wf.Steps[i].RunDue-w.now.Boot)), true
		}
	case !halted && s.State == SessionPaused:
		s = w.openSession(s.ID)
		if s.State = SessionStarting; s.Started {
			w.moveSession(s, SessionActive)
		}
		if wf, i, live := w.live(s); live && wf.Steps[i].State == Running && wf.Steps[i].LeftMS != 0 {
			st := &wf.Steps[i]
			st.RunDue = w.now.Boot + Instant(st.LeftMS)
			st.Due, st.LeftMS, st.dirty = st.RunDue, 0, true
		}
	}
	if !halted && s.MaySpeak && !s.Out && len(s.Queue) > 0 {
		w.sayNext(w.openSession(s.ID))
	}
	w.noteQuiet(s.ID)
}

// sayNext gives the mouth the first of a session's words.
func (w *work) sayNext(s *Session) {
	next := s.Queue[0]
	u := Utterance{Owner: s.owner(), Ref: next.No, Text: next.Text, First: next.First, Last: next.Last, Fresh: next.Fresh}
	if next.Way == OnScreen {
		s.Out = w.show(u)
	} else {
		s.Out = w.say(u)
	}
	s.Quiet, s.Told = 0, false
	if _, able := w.voice(next.Way); !able { // the catalog is another one by now
		w.endSession(s, SessionFailed, ReasonUnsupported)
	}
}

// noteQuiet notes since when a session that is heard has nothing to say.
func (w *work) noteQuiet(id TaskID) {
	s := w.session(id)
	if quiet := s.State == SessionActive && !s.Out && len(s.Queue) == 0; quiet && s.Quiet == 0 {
		w.openSession(id).Quiet = w.now.Boot
	}
}

// moveSession changes the state of a session that goes on, and tells the planner.
func (w *work) moveSession(s *Session, to SessionState) {
	event := map[SessionState]string{SessionPaused: "paused", SessionActive: "resumed"}[to]
	if to == SessionActive && s.State == SessionStarting && !s.Started {
		event = "started"
	}
	s.State, s.Since = to, w.now.Boot
	if s.Started || event == "started" { // nobody has heard of one before
		w.reportSession(s, event, "")
	}
}

// endSession ends a session for good: it is silent at once, and its words are forgotten. What becomes of its step is the caller's.
func (w *work) endSession(s *Session, to SessionState, reason Reason) {
	if s = w.openSession(s.ID); s == nil {
		return
	}
	w.unsay(s.owner())
	s.State, s.Reason, s.Since = to, reason, w.now.Boot
	s.Queue, s.Out, s.Voice, s.Quiet, s.Waits = nil, false, 0, 0, 0
	w.releaseIf(Hold{Scope: HoldSession, Target: string(s.ID)}, func(Hold) bool { return true })
	if s.Started || s.Given > 0 || s.MaySpeak { // else nobody has sent anything to it: what became of its step is in the result
		w.reportSession(s, string(to), "")
	}
}

// reportSession sends an event of a session up.
func (w *work) reportSession(s *Session, event, text string) {
	w.sendContent(s, &ContentReport{Session: s.ID, Event: event, State: s.State, Reason: s.Reason, Text: text, Position: s.Position})
}

func (w *work) sendContent(s *Session, r *ContentReport) {
	m := Message{Type: MsgContent, Content: r}
	if s != nil {
		m.Workflow, m.Step, m.Task = s.Workflow, s.Step, s.ID
		if wf := w.peek(s.Workflow); wf != nil {
			m.Plan, m.Turn = wf.Plan.ID, wf.Plan.TurnID
		}
	}
	w.send(m)
}

// sessionSpoken is told what became of the words of a session.
func (w *work) sessionSpoken(sp Spoken) {
	s := w.openSession(TaskID(sp.Owner.ID))
	if s == nil || !s.Out || len(s.Queue) == 0 || s.Queue[0].No != sp.Ref {
		return
	}
	switch sp.How {
	case SpeechBegun:
		w.heardSession(s, sp.Event)
	case SpeechFinished:
		w.wordsHeard(s, sp)
	case SpeechInterrupted: // somebody silenced it: it goes on when nobody talks any more
		s.Out, s.Voice = false, w.now.Boot
		w.steerSession(s)
	case SpeechFailed:
		w.failSession(s, sp.Reason)
	}
}

// heardSession: something of the session is heard, or seen where nothing is spoken. That, and no callback, is its start.
func (w *work) heardSession(s *Session, by Observed) {
	if s.Started {
		return
	}
	w.moveSession(s, SessionActive)
	s.Started = true
	w.contentEvidence(s, contentStarted, by, Values{"session_id": string(s.ID)})
}

// wordsHeard: the first of the session's words came to their end. Only what the robot's own event told proves anything.
func (w *work) wordsHeard(s *Session, sp Spoken) {
	said := s.Queue[0]
	s.Queue, s.Out = s.Queue[1:], false
	spoken := said.Way == Aloud || slices.ContainsFunc(s.Queue, func(x Words) bool { return x.Way == Aloud })
	if sp.Proven {
		s.Position++
		if !spoken || said.Way == Aloud {
			w.heardSession(s, sp.Event)
		}
		if said.Way == Aloud {
			w.partHeard(s, said)
			w.contentEvidence(s, speechFinished, sp.Event, Values{"utterance_id": sp.ID(), "session_id": string(s.ID), "first": said.First, "last": said.Last, "fresh": said.Fresh})
		}
	}
	switch {
	case !said.Last:
		w.nextPart(s, said)
		w.steerSession(s)
	case sp.Proven:
		w.completeSession(s, sp.Event)
	default: // nobody knows whether its last words were heard
		w.failSession(s, ReasonEvidenceTimeout)
	}
}

// completeSession: all was said.
func (w *work) completeSession(s *Session, by Observed) {
	w.endSession(s, SessionCompleted, ReasonNone)
	w.contentEvidence(s, contentCompleted, by, Values{"session_id": string(s.ID)})
}

// contentEvidence hands what a session has done to its step, as the observation of the robot's voice that it rests on.
func (w *work) contentEvidence(s *Session, name catalog.EventName, by Observed, data Values) {
	wf, i := w.stepOf(s)
	if wf == nil {
		return
	}
	ev := Observed{Event: name, Task: s.ID, Source: orText(by.Source, "deviceagent"), Class: w.cat.Events[name].Class, OccurredAt: by.OccurredAt, Seq: by.Seq, Data: data}
	at := slices.IndexFunc(wf.Attempts, func(a Attempt) bool { return a.Task == wf.Steps[i].Task })
	w.weigh(ref{s.Workflow, at}, ev, false)
}

// failSession ends a session that cannot go on, and its step with it.
func (w *work) failSession(s *Session, reason Reason) {
	w.endSession(s, SessionFailed, reason)
	if wf, i, live := w.live(s); live {
		w.fail(wf, i, Failed, reason)
	}
}

// stepLeft: the step of a session has ended without what it was for, and so has its session. One that completed lets it go on.
func (w *work) stepLeft(st *Step, to StepState, reason Reason) {
	s := w.session(st.Task)
	if s == nil || s.State.Terminal() || to == Completed || to == Satisfied {
		return
	}
	state := SessionFailed
	if to == Cancelled {
		state = SessionCancelled
	}
	w.endSession(s, state, reason)
}

// cancelSession ends a session because a person or the planner wants it to: silent now, and nothing of it is ever said again. Its step
// is cancelled with it, where it has not ended; the workflow goes on.
func (w *work) cancelSession(s *Session, reason Reason) {
	if s = w.openSession(s.ID); s == nil {
		return
	}
	w.endSession(s, SessionCancelled, reason)
	w.contentEvidence(s, contentCancelled, Observed{}, Values{"session_id": string(s.ID)})
	if wf, i, live := w.live(s); live {
		w.cancelStep(wf, i, reason)
		w.progress(wf)
	}
}

// cancelSessions ends all sessions, or those of one experience: who presses stop wants silence.
func (w *work) cancelSessions(experience string, reason Reason) {
	for _, id := range w.sessions() {
		if s := w.session(id); experience == "" || s.Experience == experience {
			w.cancelSession(s, reason)
		}
	}
}

// cancelSessionsOf ends the sessions of a workflow, also those that have outlived their steps; but that of one step, which is about to end
// by itself.
func (w *work) cancelSessionsOf(wf *Workflow, but int, reason Reason) {
	for _, task := range w.sessions() {
		if s := w.session(task); s.Workflow == wf.Plan.Workflow && (but < 0 || s.Step != wf.Steps[but].ID) {
			w.cancelSession(s, reason)
		}
	}
}

// controlSession takes a control of scope session: cancel and kill end it, pause and resume set and release a hold on it.
func (w *work) controlSession(ev ControlReceived, ans *Answer) {
	s := w.session(TaskID(ev.Target))
	switch {
	case s == nil:
		ans.Reason = ReasonUnknownTarget
		return
	case s.State.Terminal():
		ans.Reason, ans.State = ReasonAlreadyTerminal, string(s.State)
		return
	case ev.Verb == "pause" || ev.Verb == "resume":
		w.pauseSession(s, ev, ans)
	case ev.Verb == "cancel" || ev.Verb == "kill":
		w.cancelSession(s, ReasonUserCancelled)
		ans.Accepted = true
	default:
		ans.Reason = ReasonUnsupported
	}
	ans.Workflow, ans.State = s.Workflow, string(w.session(s.ID).State)
}

func (w *work) pauseSession(s *Session, ev ControlReceived, ans *Answer) {
	by := holderOf(ev)
	h := Hold{Kind: by, Scope: HoldSession, Target: string(s.ID), Resume: ResumeNever, By: ev.By, Why: ev.Why}
	switch {
	case ev.Verb == "pause":
		if ans.Accepted = w.hold(h); !ans.Accepted {
			ans.Reason = ReasonLimit
		}
	case ev.Holder == "":
		w.letGoAll(by, HoldSession, string(s.ID), nil)
		ans.Accepted = true
	default:
		if ans.Accepted = w.release(ev.Holder, HoldSession, string(s.ID), "", by) > 0 || !w.stands(ev.Holder, HoldSession, string(s.ID)); !ans.Accepted {
			ans.Reason = ReasonNotYours
		}
	}
	for _, o := range w.dev.Holds {
		if o.Scope == HoldSession && o.Target == string(s.ID) {
			ans.Holders = append(ans.Holders, o.ID())
		}
	}
}

// voiceEvent takes what people do to the robot's voice: who talks over content pauses it first, and is answered before it goes on.
func (w *work) voiceEvent(ev Observed) {
	switch ev.Event {
	case voiceInterrupted:
		for _, id := range w.sessions() {
			if s := w.session(id); s.Voice == 0 && (s.Started || s.Out) {
				s = w.openSession(id)
				s.Voice = w.now.Boot
				w.steerSession(s)
			}
		}
	case voiceEnded:
		for _, id := range w.sessions() {
			if s := w.session(id); s.Voice != 0 {
				w.openSession(id).Voice = 0
				w.steerSession(w.session(id))
			}
		}
	case contentResponse:
		w.userResponse(ev)
	}
}

// userResponse sends up what a user said to a session: to the one that is named, else to the latest.
func (w *work) userResponse(ev Observed) {
	ids := w.sessions()
	if len(ids) == 0 {
		return
	}
	id := ids[len(ids)-1]
	if named, _ := ev.Data["session_id"].(string); named != "" {
		if !slices.Contains(ids, TaskID(named)) {
			return
		}
		id = TaskID(named)
	}
	text, _ := ev.Data["text"].(string)
	s := w.openSession(id)
	if s.Quiet != 0 {
		s.Quiet, s.Told = w.now.Boot, false
	}
	w.reportSession(s, "user_response", text)
}

// sessionsStart moves the sessions into the present boot. What was being said is looked after by the mouth.
func (w *work) sessionsStart(shift Instant) {
	for _, id := range w.sessions() {
		s := w.openSession(id)
		rebased(shift, &s.Since, &s.Voice, &s.Quiet, &s.Waits)
		with := func(u Utterance) bool { return u.Owner == s.owner() && u.State != SpeechStopping && !u.Clear }
		s.Out = s.Out && slices.ContainsFunc(w.mouth().Queue, with) // a mouth that could not be read has forgotten it
	}
}

// due is when time alone moves a session next; 0: never.
func (s *Session) due() (at Instant) {
	if s.State.Terminal() {
		return 0
	}
	if s.Waits != 0 {
		at = earlier(at, s.Waits)
	}
	if s.Voice != 0 {
		at = earlier(at, s.Voice+silenceMS)
	}
	switch {
	case s.Quiet != 0 && !s.Told:
		at = earlier(at, s.Quiet+silenceMS)
	case s.Quiet != 0:
		at = earlier(at, s.Quiet+2*silenceMS)
	}
	return at
}

// sessionsDue lets pass what time alone moves.
func (w *work) sessionsDue() {
	for _, id := range w.sessions() {
		s := w.session(id)
		if at := s.due(); at == 0 || at > w.now.Boot {
			continue
		}
		if s.Waits != 0 && s.Waits <= w.now.Boot {
			s = w.openSession(id)
			s.Waits = 0
			w.tellOwn(s)
		}
		if s = w.openSession(id); s == nil {
			continue
		}
		if s.Voice != 0 && s.Voice+silenceMS <= w.now.Boot { // that nobody talks any more was not heard: it goes on
			s.Voice = 0
			w.steerSession(s)
		}
		w.fellSilent(s)
	}
}

// fellSilent: a session has had nothing to say for long. The planner is told once; if nothing comes, it is over.
func (w *work) fellSilent(s *Session) {
	switch {
	case s.Quiet == 0 || s.State.Terminal():
	case !s.Told && s.Quiet+silenceMS <= w.now.Boot:
		s.Told = true
		w.reportSession(s, "silent", "")
	case s.Told && s.Quiet+2*silenceMS <= w.now.Boot:
		if _, _, live := w.live(s); live {
			w.failSession(s, ReasonContentSilent)
			return
		}
		w.endSession(s, SessionCompleted, ReasonContentSilent)
	}
}

// telling says whether the session of a step still has something to say, or is held: its step waits for the proof as long.
func (w *work) telling(st *Step) bool {
	s := w.session(st.Task)
	return s != nil && !s.State.Terminal() && (s.Out || len(s.Queue) > 0 || s.State == SessionPaused)
}
