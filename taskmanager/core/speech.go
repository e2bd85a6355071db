package core

import (
	"cmp"
	"slices"
	"strconv"

	"deviceagent/taskmanager/core/catalog"
)

// Mouth is what the robot says and shows on behalf of the agent: questions to the user, content, sentences of its own. There is one, so
// that two never speak at once. It is durable; what it says are no steps of a plan and send no result. Source: docs/experience.md.
type Mouth struct {
	No     int64       `json:"no,omitempty"`    // of the last utterance
	Queue  []Utterance `json:"queue,omitempty"` // what is under way and what waits, as it came; replaced, never written in place
	Screen Owner       `json:"screen,omitzero"` // whose words the screen shows; zero: nobody's
}

// Way is how words reach people. The words are the names of the catalog's voice.
type Way string

// The ways.
const (
	Aloud    Way = catalog.VoiceSay
	OnScreen Way = catalog.VoiceShow
)

// OwnerKind says on whose behalf something is said.
type OwnerKind string

// The owners, those first whose words go first.
const (
	ForQuestion OwnerKind = "question"
	ForNotice   OwnerKind = "notice" // a sentence of the agent's own: nobody waits for how it ends
	ForSession  OwnerKind = "session"
)

func (k OwnerKind) rank() int {
	return slices.Index([]OwnerKind{ForQuestion, ForNotice, ForSession}, k)
}

// Owner is whose words they are: a question, a session of content, a notice.
type Owner struct {
	Kind OwnerKind `json:"kind"`
	ID   string    `json:"id"`
}

// SpeechState says how far an utterance is.
type SpeechState string

// The states of an utterance. One that has ended is in the queue no more: whoever it was said for was told.
const (
	SpeechWaiting  SpeechState = "waiting"
	SpeechCalling  SpeechState = "calling"  // its call is durable and not answered
	SpeechLive     SpeechState = "live"     // the executor accepted it
	SpeechProving  SpeechState = "proving"  // the executor says done; the robot's own event is awaited
	SpeechLost     SpeechState = "lost"     // its executor was lost, or the agent started anew: it is asked for
	SpeechStopping SpeechState = "stopping" // it was to be silent at once; whose it was knows that
)

// Utterance is one thing to say or to show.
type Utterance struct {
	No    int64       `json:"no"`
	Way   Way         `json:"way"`
	Owner Owner       `json:"owner"`
	Ref   int64       `json:"ref,omitempty"` // the owner's own: which of its words they are
	Text  string      `json:"text"`          // of a screen: "" clears it
	First bool        `json:"first,omitempty"`
	Last  bool        `json:"last,omitempty"`
	Fresh bool        `json:"fresh,omitempty"` // what it tells was looked up after it was asked for
	Clear bool        `json:"clear,omitempty"` // it takes the owner's words off the screen, if they are there; nobody is told
	State SpeechState `json:"state"`
	Task  TaskID      `json:"task,omitempty"`  // of the call under way
	Seq   int64       `json:"seq,omitempty"`   // what proves it must be younger
	At    Instant     `json:"at"`              // since when it waits, or of its call
	Next  Instant     `json:"next,omitempty"`  // waiting: not called before
	Due   Instant     `json:"due,omitempty"`   // the end of what its state may last
	Tries int64       `json:"tries,omitempty"` // calls that came to nothing
	Stops int64       `json:"stops,omitempty"`
	Begun bool        `json:"begun,omitempty"` // the robot's own speech.started came
	Ended bool        `json:"ended,omitempty"` // the robot's own speech.finished or speech.interrupted came, and the owner was told
}

// ID names an utterance to the robot; however often it has to be said anew, it stays the same.
func (u *Utterance) ID() string { return "u-" + strconv.FormatInt(u.No, 10) }

// flies says whether a call of it is, or may be, under way.
func (u *Utterance) flies() bool { return u.State != SpeechWaiting }

// SpeechEnd is what became of an utterance.
type SpeechEnd string

// What the owner of an utterance is told. Begun and Finished come from the robot's own event where they are proven; the executor's word
// that it is done is no proof. What an owner has stopped by itself it is not told.
const (
	SpeechBegun       SpeechEnd = "begun"
	SpeechFinished    SpeechEnd = "finished"
	SpeechInterrupted SpeechEnd = "interrupted"
	SpeechFailed      SpeechEnd = "failed"
)

// Spoken is what the owner of an utterance is told about it.
type Spoken struct {
	Utterance
	How    SpeechEnd
	Proven bool     // by the robot's own event since the call, or on a screen by the executor's word: it has no other
	Event  Observed // that event; zero where there is none
	Reason Reason   // why it failed
}

// maxSpeech bounds the queue. Every owner has one or two utterances in it: what it says next is its own to keep.
const maxSpeech = 64

// How long the mouth waits. Source: docs/experience.md, what the robot says.
const (
	speechRetryMS  = 2000    // after a call that nobody took
	maxSpeechTries = 5       // calls of one utterance
	unheardMS      = 120_000 // without a service that speaks
	runeMS         = 300     // no voice needs longer for one sign; added to the operation's timeout
)

// canSpeak says whether a service is there that speaks.
func (w *work) canSpeak() bool { return w.serves(Aloud) }

// canShow says whether a service is there that shows words.
func (w *work) canShow() bool { return w.serves(OnScreen) }

func (w *work) serves(way Way) bool {
	op, ok := w.voice(way)
	return ok && slices.Contains(w.serviceOf(ServiceID(op.Binding.Name)).Methods, op.Method)
}

// voice is the operation behind a way; false: the robot has none.
func (w *work) voice(way Way) (catalog.Operation, bool) {
	m, named := w.cat.Voice[string(way)]
	op, ok := w.cat.Operations[m]
	return op, named && ok
}

// say queues words for the robot's voice; the text must not be empty. False: the robot has no voice, or the queue is full: then nothing
// is said, and nobody is told.
func (w *work) say(u Utterance) bool {
	u.Way = Aloud
	return w.utter(u)
}

// show queues words for the screen; "" clears it. False: the robot shows no words, or the queue is full.
func (w *work) show(u Utterance) bool {
	u.Way = OnScreen
	return w.utter(u)
}

func (w *work) utter(u Utterance) bool {
	if _, ok := w.voice(u.Way); !ok || len(w.mouth().Queue) >= maxSpeech {
		return false
	}
	m := w.openMouth()
	m.No++
	u.No, u.State, u.At = m.No, SpeechWaiting, w.now.Boot
	m.Queue = append(m.Queue, u)
	w.ch.Must = true
	return true
}

// unsay takes back all that is said for an owner: what waits is dropped, what is spoken is stopped at once (the stop waits for no disk),
// and the screen is cleared of its words. The owner is told of none of it.
func (w *work) unsay(o Owner) { w.silence(o, true) }

// hush stops and drops what is said for an owner and leaves its words on the screen.
func (w *work) hush(o Owner) { w.silence(o, false) }

func (w *work) silence(o Owner, screen bool) {
	theirs := func(u Utterance) bool { return u.Owner == o && !u.Clear && (screen || u.Way == Aloud) }
	shown := screen && (w.mouth().Screen == o || slices.ContainsFunc(w.mouth().Queue, func(u Utterance) bool { return theirs(u) && u.Way == OnScreen && u.flies() }))
	if !shown && !slices.ContainsFunc(w.mouth().Queue, theirs) {
		return
	}
	m := w.openMouth()
	m.Queue = slices.DeleteFunc(m.Queue, func(u Utterance) bool { return theirs(u) && !u.flies() })
	for i := range m.Queue {
		if u := &m.Queue[i]; theirs(*u) && u.State != SpeechStopping && !u.Ended { // what has ended is silent already
			w.stopSpeech(u)
		}
	}
	if shown {
		w.show(Utterance{Owner: o, Clear: true})
	}
	w.ch.Must = true
}

// stopSpeech asks for silence. A screen needs none: what it shows is replaced.
func (w *work) stopSpeech(u *Utterance) {
	op, _ := w.voice(u.Way)
	u.State, u.Due = SpeechStopping, w.now.Boot+Instant(cmp.Or(op.StopMS, 2000))
	u.Stops++
	if !op.Cancel {
		return
	}
	w.ch.Now = append(w.ch.Now, Stop{Task: u.Task, Service: ServiceID(op.Binding.Name), Method: op.Method})
	if m := w.cat.Voice[catalog.VoiceHush]; u.Stops == maxStops && m != "" { // who does not let go of its task may still know the word for silence
		w.ch.Now = append(w.ch.Now, Dispatch{Task: w.newTask(), Service: ServiceID(w.cat.Operations[m].Binding.Name), Method: m})
	}
	w.askSpeech(u) // the call may still be on its way: what the executor does not know it refuses from now on
}

func (w *work) askSpeech(u *Utterance) {
	op, _ := w.voice(u.Way)
	if svc := ServiceID(op.Binding.Name); w.serviceOf(svc).Instance != "" {
		w.ch.Now = append(w.ch.Now, Query{Task: u.Task, Service: svc, Method: op.Method})
	}
}

// mouth is the mouth as this reduction has left it, to be read.
func (w *work) mouth() *Mouth {
	if w.ch.mouth != nil {
		return w.ch.mouth
	}
	return &w.cur.Mouth
}

// openMouth gives a copy that may be written.
func (w *work) openMouth() *Mouth {
	if w.ch.mouth == nil {
		m := w.cur.Mouth
		m.Queue = slices.Clone(m.Queue)
		w.ch.mouth = &m
	}
	w.touched = true
	return w.ch.mouth
}

// speak calls what is next, one thing at a time on each way: the words of questions first, then as they came. It is the last that a
// reduction does, so that nothing it called is taken back by the same batch.
func (w *work) speak() {
	if w.cur.Hold {
		return
	}
	for _, way := range []Way{Aloud, OnScreen} {
		for w.speakNext(way) {
		}
	}
}

// speakNext says whether it dropped something that needs no call, so that there may be another next.
func (w *work) speakNext(way Way) (again bool) {
	q := w.mouth().Queue
	if slices.ContainsFunc(q, func(u Utterance) bool { return u.Way == way && u.flies() }) {
		return false
	}
	i := -1
	for k := range q {
		if q[k].Way == way && (i < 0 || q[k].Owner.Kind.rank() < q[i].Owner.Kind.rank()) {
			i = k
		}
	}
	switch {
	case i < 0 || q[i].Next > w.now.Boot:
	case q[i].Clear && w.mouth().Screen != q[i].Owner: // somebody else's words are there by now
		w.dropSpeech(i)
		return true
	case w.serves(way):
		w.callSpeech(&w.openMouth().Queue[i])
	case q[i].Due == 0:
		w.openMouth().Queue[i].Due = w.now.Boot + unheardMS
		w.ch.Must = true
	}
	return false
}

// callSpeech commits the intent to call; the call follows the commit.
func (w *work) callSpeech(u *Utterance) {
	op, _ := w.voice(u.Way)
	u.Task, u.State, u.Seq, u.At, u.Next = w.newTask(), SpeechCalling, w.seq, w.now.Boot, 0
	u.Due = w.now.Boot + Instant(cmp.Or(op.AckMS, 3000))
	u.Begun, u.Ended = false, false
	w.ch.Outputs = append(w.ch.Outputs, Dispatch{Task: u.Task, Service: ServiceID(op.Binding.Name), Method: op.Method, Params: u.params(op)})
	w.ch.Must = true
}

// params are what the operation has a parameter for.
func (u *Utterance) params(op catalog.Operation) Values {
	all := Values{"text": u.Text, "utterance_id": u.ID()}
	switch u.Owner.Kind {
	case ForSession:
		all["session_id"], all["first"], all["last"], all["fresh"] = u.Owner.ID, u.First, u.Last, u.Fresh
	case ForQuestion:
		all["question_id"] = u.Owner.ID
	}
	for key := range all {
		if _, takes := op.Params[key]; !takes {
			delete(all, key)
		}
	}
	return all
}

// uttered finds an utterance by the task of its call; -1: it is none.
func (w *work) uttered(task TaskID) int {
	if task == "" {
		return -1
	}
	return slices.IndexFunc(w.mouth().Queue, func(u Utterance) bool { return u.Task == task && u.flies() })
}

// dropSpeech takes an utterance out of the queue.
func (w *work) dropSpeech(i int) Utterance {
	m := w.openMouth()
	u := m.Queue[i]
	m.Queue = slices.Delete(m.Queue, i, i+1)
	w.ch.Must = true
	return u
}

// tell hands on what became of an utterance, to whom it was said for.
func (w *work) tell(u Utterance, how SpeechEnd, proven bool, ev Observed, reason Reason) {
	if u.Clear {
		return
	}
	s := Spoken{Utterance: u, How: how, Proven: proven, Event: ev, Reason: reason}
	w.touched, w.ch.Must = true, true
	switch u.Owner.Kind {
	case ForQuestion:
		w.questionSpoken(s)
	case ForSession:
		w.sessionSpoken(s)
	}
}

// speechAnswered takes the answer to a call, if it is one of the mouth's.
func (w *work) speechAnswered(ev TaskAnswered) bool {
	i := w.uttered(ev.Task)
	if i < 0 {
		return false
	}
	u := &w.openMouth().Queue[i]
	switch {
	case u.State == SpeechStopping && (ev.NotSent || !ev.Accepted && !ev.Unknown):
		w.dropSpeech(i)
	case u.State != SpeechCalling && u.State != SpeechLost:
	case ev.NotSent:
		w.sayAgain(i, orReason(ev.Reason, ReasonExecutorUnavail))
	case ev.Unknown:
		w.loseUtterance(u)
	case !ev.Accepted:
		w.sayAgain(i, orReason(ev.Reason, ReasonExecutorRefused))
	default:
		w.livesOn(u)
	}
	return true
}

// livesOn: the executor has it.
func (w *work) livesOn(u *Utterance) {
	op, _ := w.voice(u.Way)
	u.State = SpeechLive
	u.Due = w.now.Boot + Instant(cmp.Or(op.Timeout.PlusMS, 120_000)) + Instant(runeMS*len([]rune(u.Text)))
}

// loseUtterance: whether it is said is not known. It is asked for, at once or as soon as somebody is there to answer.
func (w *work) loseUtterance(u *Utterance) {
	op, _ := w.voice(u.Way)
	u.State, u.Due = SpeechLost, w.now.Boot+unheardMS
	if w.serves(u.Way) {
		u.Due = w.now.Boot + Instant(cmp.Or(op.AckMS, 3000))
		w.askSpeech(u)
	}
	w.ch.Must = true
}

// sayAgain puts an utterance back whose call came to nothing, or of which nobody knows what became: a sentence said twice is harmless.
// One that was called often enough has failed.
func (w *work) sayAgain(i int, reason Reason) {
	m := w.openMouth()
	u := &m.Queue[i]
	if u.Tries++; u.Tries >= maxSpeechTries || u.Ended {
		gone := w.dropSpeech(i)
		if !gone.Ended { // else its owner knows
			w.tell(gone, SpeechFailed, false, Observed{}, reason)
		}
		return
	}
	u.State, u.Task, u.At, u.Next, u.Due = SpeechWaiting, "", w.now.Boot, w.now.Boot+speechRetryMS, 0
	w.ch.Must = true
}

// speechEnded takes the executor's result. It is a claim: where the robot's own event has not come, that is waited for.
func (w *work) speechEnded(ev TaskEnded) bool {
	i := w.uttered(ev.Task)
	if i < 0 {
		return false
	}
	if op, _ := w.voice(w.mouth().Queue[i].Way); ev.Source == "" || ev.Source == op.Binding.Name {
		w.endSpeech(i, ev)
	}
	return true
}

func (w *work) endSpeech(i int, ev TaskEnded) {
	u := &w.openMouth().Queue[i]
	op, _ := w.voice(u.Way)
	switch {
	case u.State == SpeechStopping || u.Ended:
		w.dropSpeech(i)
	case ev.Outcome == OutcomeDone && u.Way == OnScreen:
		w.shown(w.dropSpeech(i))
	case ev.Outcome == OutcomeDone && u.State == SpeechProving:
	case ev.Outcome == OutcomeDone:
		u.State, u.Due = SpeechProving, w.now.Boot+Instant(cmp.Or(op.EvidenceMS, 15_000))
		w.ch.Must = true
	case ev.Outcome == OutcomeCancelled:
		w.tell(w.dropSpeech(i), SpeechInterrupted, false, Observed{}, orReason(ev.Reason, ReasonExternalStop))
	default:
		w.sayAgain(i, orReason(ev.Reason, ReasonExecutorFailed))
	}
}

// shown: the screen has it. Its word is all the proof there is.
func (w *work) shown(u Utterance) {
	m := w.openMouth()
	if m.Screen = u.Owner; u.Text == "" {
		m.Screen = Owner{}
	}
	w.tell(u, SpeechFinished, true, Observed{}, ReasonNone)
}

// speechStatus takes the answer to a Query.
func (w *work) speechStatus(ev TaskStatus) bool {
	i := w.uttered(ev.Task)
	if i < 0 {
		return false
	}
	u := &w.openMouth().Queue[i]
	switch ev.Known {
	case KnownRunning:
		if u.State == SpeechLost || u.State == SpeechCalling {
			w.livesOn(u)
		}
	case KnownEnded:
		if e := ev.Event; e != nil && u.State != SpeechStopping {
			told := *e
			told.Class = weaker(w.cat.Events[told.Event].Class, told.Class)
			w.speechSaid(i, told)
		}
		end := TaskEnded{Task: ev.Task, Outcome: OutcomeFailed, Reason: ReasonExecutorFailed}
		if ev.Ended != nil {
			end = *ev.Ended
		}
		if k := w.uttered(ev.Task); k >= 0 {
			w.endSpeech(k, end)
		}
	case KnownNot:
		switch {
		case u.State == SpeechStopping:
			w.dropSpeech(i)
		case u.State == SpeechLost || u.State == SpeechCalling || u.State == SpeechLive:
			w.sayAgain(i, ReasonOutcomeUnknown)
		}
	}
	return true
}

// speechObserved takes the robot's own events about what it says.
func (w *work) speechObserved(ev Observed) {
	i := slices.IndexFunc(w.mouth().Queue, func(u Utterance) bool {
		return u.flies() && w.seq > u.Seq && (ev.Task == u.Task || ev.Task == "" && ev.Data["utterance_id"] == u.ID())
	})
	if i >= 0 && w.mouth().Queue[i].State != SpeechStopping {
		w.speechSaid(i, ev)
	}
}

func (w *work) speechSaid(i int, ev Observed) {
	u := &w.openMouth().Queue[i]
	if u.Ended || ev.Class != catalog.Independent {
		return
	}
	switch ev.Event {
	case speechStarted:
		if !u.Begun {
			u.Begun = true
			w.tell(*u, SpeechBegun, true, ev, ReasonNone)
		}
	case speechFinished, speechInterrupted:
		how := SpeechFinished
		if ev.Event == speechInterrupted {
			how = SpeechInterrupted
		}
		u.Ended, u.Due = true, earlier(u.Due, w.now.Boot+speechRetryMS) // its task is about to end too
		said := *u
		if u.State == SpeechProving {
			w.dropSpeech(i)
		}
		w.tell(said, how, true, ev, ev.Reason)
	}
}

// The robot's own words about its voice.
const (
	speechStarted     catalog.EventName = "speech.started"
	speechFinished    catalog.EventName = "speech.finished"
	speechInterrupted catalog.EventName = "speech.interrupted"
)

// speechUp: the service that speaks is there, or there anew: what it had in hand is asked for.
func (w *work) speechUp(svc ServiceID) {
	w.eachSpoken(svc, func(u *Utterance) {
		if u.State == SpeechStopping {
			w.askSpeech(u)
			return
		}
		w.loseUtterance(u)
	})
}

func (w *work) speechDown(svc ServiceID) {
	w.eachSpoken(svc, func(u *Utterance) {
		if u.State != SpeechStopping {
			w.loseUtterance(u)
		}
	})
}

func (w *work) eachSpoken(svc ServiceID, visit func(*Utterance)) {
	for i, u := range w.mouth().Queue {
		if op, _ := w.voice(u.Way); u.flies() && ServiceID(op.Binding.Name) == svc {
			visit(&w.openMouth().Queue[i])
		}
	}
}

// speechStart moves the mouth into the present boot. Of what was under way nobody knows how it stands.
func (w *work) speechStart(shift Instant) {
	if len(w.mouth().Queue) == 0 {
		return
	}
	m := w.openMouth()
	for i := range m.Queue {
		u := &m.Queue[i]
		rebased(shift, &u.At, &u.Next, &u.Due)
		if u.flies() && u.State != SpeechStopping {
			u.State, u.Due = SpeechLost, w.now.Boot+unheardMS
		}
	}
}

// speechDue lets pass what time alone moves.
func (w *work) speechDue() {
	for {
		i := slices.IndexFunc(w.mouth().Queue, func(u Utterance) bool { return u.Due != 0 && u.Due <= w.now.Boot })
		if i < 0 {
			break
		}
		u := &w.openMouth().Queue[i]
		u.Due, w.ch.Must = 0, true
		w.speechOver(i, u)
	}
	if slices.ContainsFunc(w.mouth().Queue, func(u Utterance) bool { return u.Next != 0 && u.Next <= w.now.Boot }) {
		m := w.openMouth()
		for i := range m.Queue {
			if u := &m.Queue[i]; u.Next <= w.now.Boot {
				u.Next = 0
			}
		}
	}
}

// speechOver: what the state of an utterance may last is over.
func (w *work) speechOver(i int, u *Utterance) {
	switch u.State {
	case SpeechWaiting:
		w.tell(w.dropSpeech(i), SpeechFailed, false, Observed{}, ReasonExecutorUnavail)
	case SpeechCalling:
		w.loseUtterance(u)
	case SpeechLost:
		w.sayAgain(i, ReasonOutcomeUnknown)
	case SpeechProving: // the executor's word is all that there is, and that proves nothing
		w.tell(w.dropSpeech(i), SpeechFinished, false, Observed{}, ReasonEvidenceTimeout)
	case SpeechLive:
		if u.Ended {
			w.dropSpeech(i)
			return
		}
		task := u.Task
		w.tell(*u, SpeechFailed, false, Observed{}, ReasonStepTimeout)
		if k := w.uttered(task); k >= 0 && w.mouth().Queue[k].State != SpeechStopping {
			w.stopSpeech(&w.openMouth().Queue[k])
		}
	case SpeechStopping:
		if u.Stops < maxStops && u.Way == Aloud {
			w.stopSpeech(u)
			return
		}
		w.dropSpeech(i) // it cannot be silenced: the robot refuses others as long as it speaks
	}
}

// wake is the earliest moment at which time moves the mouth; 0: none.
func (m *Mouth) wake() (at Instant) {
	for i := range m.Queue {
		for _, t := range []Instant{m.Queue[i].Due, m.Queue[i].Next} {
			if t != 0 {
				at = earlier(at, t)
			}
		}
	}
	return at
}

// questionSpoken is told what became of the words of a question.
func (w *work) questionSpoken(Spoken) {}
