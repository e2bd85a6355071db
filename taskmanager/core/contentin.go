package core

import "strconv"

// ContentReceived is a word of the planner to a content session.
type ContentReceived struct {
	Head
	Session  TaskID      `json:"session"`
	Verb     ContentVerb `json:"verb"`
	Text     string      `json:"text,omitempty"`
	Act      string      `json:"act,omitempty"`       // ack progress question done failed: what the words do, kept for those who read the journal
	Last     bool        `json:"last,omitempty"`      // these are the last words
	LookedMS int64       `json:"looked_ms,omitempty"` // when what they tell was looked up, Unix ms; 0: not said
}

// ContentVerb says what is to become of a session.
type ContentVerb string

// The verbs. Source: docs/contract.md, content.
const (
	ContentStart  ContentVerb = "start"
	ContentSay    ContentVerb = "say"
	ContentShow   ContentVerb = "show"
	ContentPause  ContentVerb = "pause"
	ContentResume ContentVerb = "resume"
	ContentStop   ContentVerb = "stop"
)

// halts says whether a verb only stops or holds.
func (v ContentVerb) halts() bool { return v == ContentPause || v == ContentStop }

// KindContentReceived names the event in the journal.
const KindContentReceived EventKind = "content_received"

func (ContentReceived) eventKind() EventKind { return KindContentReceived }

// Key is the natural key of content: the session and the planner's counter, else the message.
func (ev ContentReceived) Key() string {
	if ev.Seq != 0 {
		return "content:" + string(ev.Session) + ":" + strconv.FormatInt(ev.Seq, 10)
	}
	return "content:" + string(ev.Msg)
}

// ContentReport is a message up about a session: the answer to a verb (Ref is set), or an event.
type ContentReport struct {
	Ref      MessageID
	Session  TaskID
	Verb     ContentVerb
	Accepted bool
	Reason   Reason
	State    SessionState
	Event    string // started paused resumed completed cancelled failed silent user_response
	Text     string // what the user said
	Position int64  // words that were heard to their end
}

// contentReceived takes a word of the planner. It is answered by up/content, in the order in which it was applied.
func (w *work) contentReceived(ev ContentReceived) {
	key := ev.Key()
	w.recall(&ev.Head, key)
	if ev.Before != nil {
		ans := Answer{Ref: ev.Msg, Reason: ReasonIDReused}
		if ev.HashThen == ev.Hash {
			ans = *ev.Before
		}
		w.replyContent(ev, ans, "")
		return
	}
	ans := Answer{Ref: ev.Msg}
	s := w.session(ev.Session)
	switch {
	case w.otherStore(ev.Head) && !ev.Verb.halts():
		ans.Reason = ReasonWrongEpoch
	case w.age(ev.Head) != ReasonNone:
		ans.Reason = w.age(ev.Head)
	case s == nil:
		ans.Reason = ReasonUnknownTarget
	case s.State.Terminal():
		ans.Reason = ReasonAlreadyTerminal
	case ev.Seq != 0 && ev.Seq < s.Seq, s.Own && !ev.Verb.halts() && ev.Verb != ContentResume:
		ans.Reason = ReasonSuperseded
	default:
		ans.Reason = w.applyContent(w.openSession(s.ID), ev)
	}
	ans.Accepted = ans.Reason == ReasonNone
	if s = w.session(ev.Session); s != nil {
		ans.Workflow, ans.State = s.Workflow, string(s.State)
	}
	w.replyContent(ev, ans, key)
}

// replyContent answers as reply does, by up/content in place of up/ack.
func (w *work) replyContent(ev ContentReceived, ans Answer, key string) {
	h := ev.Head
	h.Local = true // no ack
	w.reply(h, ans, key)
	if !ev.Local {
		s, at := w.session(ev.Session), int64(0)
		if s != nil {
			at = s.Position
		}
		w.sendContent(s, &ContentReport{Position: at, Ref: ev.Msg, Session: ev.Session, Verb: ev.Verb, Accepted: ans.Accepted, Reason: ans.Reason, State: SessionState(ans.State)})
	}
}

// applyContent does what a verb says, and says why not.
func (w *work) applyContent(s *Session, ev ContentReceived) Reason {
	words := Words{Way: Aloud, Text: ev.Text, Last: ev.Last, Fresh: s.fresh(ev)}
	hold := Hold{Kind: HeldByCloud, Scope: HoldSession, Target: string(s.ID), Resume: ResumeNever}
	reason := ReasonNone
	switch ev.Verb {
	case ContentStart:
		if ev.Text != "" {
			reason = s.take(words)
		}
		s.MaySpeak = s.MaySpeak || reason == ReasonNone
	case ContentSay:
		reason = s.take(words)
	case ContentShow:
		if _, able := w.voice(OnScreen); !able {
			return ReasonUnsupported
		}
		words.Way, words.Fresh = OnScreen, false
		reason = s.take(words)
	case ContentPause:
		if !w.hold(hold) {
			reason = ReasonLimit
		}
	case ContentResume:
		w.release(HeldByCloud, HoldSession, string(s.ID), "", HeldByCloud)
	case ContentStop:
		w.stopContent(s)
	}
	if reason != ReasonNone {
		return reason
	}
	if s.Seq = max(s.Seq, ev.Seq); ev.LookedMS != 0 {
		s.LookedMS = ev.LookedMS
	}
	if !ev.Verb.halts() && ev.Verb != ContentResume {
		w.contentCame(s)
	}
	if !s.State.Terminal() {
		w.steerSession(s)
	}
	return ReasonNone
}

// take queues words of a session.
func (s *Session) take(words Words) Reason {
	switch {
	case len(s.Queue) >= maxWordsOf:
		return ReasonLimit
	case s.LastGiven:
		return ReasonSuperseded // what comes after the last words is not said
	}
	s.Given++
	if words.No = s.Given; words.Way == Aloud {
		s.Spoken++
		words.First = s.Spoken == 1
	}
	s.LastGiven = words.Last
	s.Queue = append(s.Queue, words)
	return ReasonNone
}

// fresh says whether what is told was looked up after the step became due. Where nobody knows the time, it is not.
func (s *Session) fresh(ev ContentReceived) bool {
	at := ev.LookedMS
	if at == 0 {
		at = s.LookedMS
	}
	return at != 0 && s.DueMS != 0 && at >= s.DueMS
}

// contentCame: the planner is there. A step that waited for it goes on.
func (w *work) contentCame(s *Session) {
	s.Waits = 0
	if wf, i, live := w.live(s); live && wf.Steps[i].State == Blocked && wf.Steps[i].Reason == ReasonContentOffline {
		w.run(wf, i)
	}
}

// stopContent: the planner ends the session. What was all said is complete, anything else is broken off.
func (w *work) stopContent(s *Session) {
	w.endSession(s, SessionCancelled, ReasonUserCancelled)
}
