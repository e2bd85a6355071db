package core

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core/catalog"
)

// mouthRig drives the mouth by hand: the test is robot and clock, and whoever has something to say.
type mouthRig struct {
	t     *testing.T
	s     *State
	now   Now
	log   []Output
	tasks []Dispatch
}

// voiced is a catalog with nothing but a voice.
func voiced() *catalog.Catalog {
	text := map[string]catalog.Param{"text": {Type: catalog.String, Required: true}, "utterance_id": {Type: catalog.String}, "session_id": {Type: catalog.String},
		"first": {Type: catalog.Boolean}, "last": {Type: catalog.Boolean}, "fresh": {Type: catalog.Boolean}}
	shown := map[string]catalog.Param{"text": {Type: catalog.String, Required: true}, "question_id": {Type: catalog.String}}
	at := catalog.Binding{Kind: "socket", Name: "home"}
	said := catalog.Event{Class: catalog.Independent, Resource: "speaker"}
	return &catalog.Catalog{
		Voice:     map[string]catalog.Method{catalog.VoiceSay: "setLlmTts", catalog.VoiceHush: "stopTts", catalog.VoiceShow: "showText"},
		Resources: map[catalog.ResourceID]catalog.Resource{"speaker": {Stop: "stopTts"}},
		Operations: map[catalog.Method]catalog.Operation{
			"setLlmTts": {Method: "setLlmTts", Params: text, Resources: []catalog.ResourceID{"speaker"}, Cancel: true, StopMS: 2000, AckMS: 3000,
				Timeout: catalog.Duration{PlusMS: 120_000}, EvidenceMS: 15_000, Redo: catalog.RedoAnytime, Binding: at},
			"stopTts":  {Method: "stopTts", Stops: []catalog.ResourceID{"speaker"}, AckMS: 3000, Binding: at},
			"showText": {Method: "showText", Params: shown, AckMS: 3000, Timeout: catalog.Duration{PlusMS: 10_000}, Binding: at},
		},
		Events: map[catalog.EventName]catalog.Event{speechStarted: said, speechFinished: said, speechInterrupted: said},
	}
}

func newMouthRig(t *testing.T) *mouthRig {
	r := &mouthRig{t: t, s: NewState(voiced(), Device{Epoch: "epoch-1"}), now: Now{Boot: 1000, BootID: "boot-1", WallMS: 1_800_000_000_000, Trusted: true, Seq: 1}}
	r.do(Started{StartNo: 1})
	r.up("run-1")
	return r
}

func (r *mouthRig) up(instance string) {
	r.do(ExecutorUp{Service: "home", Instance: instance, Methods: []catalog.Method{"setLlmTts", "stopTts", "showText"}})
}

func (r *mouthRig) adopt(c Change) {
	r.now.Seq++
	r.log = append(append(r.log, c.Now...), c.Outputs...)
	for _, o := range slices.Concat(c.Now, c.Outputs) {
		if d, ok := o.(Dispatch); ok {
			r.tasks = append(r.tasks, d)
		}
	}
	r.s = r.s.With(c)
}

func (r *mouthRig) do(ev Event) { r.adopt(Reduce(r.s, r.now, []Event{ev})) }

// by lets something inside the core use the mouth, as a question or a session does in the course of an event.
func (r *mouthRig) by(f func(*work)) {
	w := newWork(r.s, r.now)
	f(w)
	w.speak()
	r.adopt(w.finish())
}

func (r *mouthRig) pass(ms int64) {
	end := r.now.Boot + Instant(ms)
	for n := 0; ; n++ {
		wake := r.s.NextWake()
		if wake == 0 || wake > end {
			break
		}
		if n > 1000 {
			r.t.Fatalf("the core wakes for ever at %d", wake)
		}
		r.now.Boot = max(wake, r.now.Boot)
		r.do(Tick{})
	}
	r.now.Boot = end
}

func (r *mouthRig) say(o Owner, text string) {
	r.t.Helper()
	r.by(func(w *work) {
		if !w.say(Utterance{Owner: o, Text: text}) {
			r.t.Fatalf("%q is not said", text)
		}
	})
}

// last is the latest call.
func (r *mouthRig) last() Dispatch {
	r.t.Helper()
	if len(r.tasks) == 0 {
		r.t.Fatal("nothing was called")
	}
	return r.tasks[len(r.tasks)-1]
}

func (r *mouthRig) event(name catalog.EventName, task TaskID) {
	r.do(Observed{Event: name, Task: task, Source: "speech_service", Class: catalog.Independent})
}

// spoken plays an utterance to its honest end.
func (r *mouthRig) spoken(task TaskID) {
	r.do(TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event(speechStarted, task)
	r.event(speechFinished, task)
	r.do(TaskEnded{Task: task, Outcome: OutcomeDone, Source: "home"})
}

// said lists the texts of all calls, in order; [x] is a text on the screen.
func (r *mouthRig) said() string {
	var out []string
	for _, d := range r.tasks {
		text, _ := d.Params["text"].(string)
		switch d.Method {
		case "showText":
			text = "[" + text + "]"
		case "stopTts":
			text = "(hush)"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func (r *mouthRig) wantSaid(want string) {
	r.t.Helper()
	if got := r.said(); got != want {
		r.t.Errorf("said %q, want %q", got, want)
	}
}

func (r *mouthRig) wantQueue(states ...SpeechState) {
	r.t.Helper()
	var got []SpeechState
	for _, u := range r.s.Mouth.Queue {
		got = append(got, u.State)
	}
	if !slices.Equal(got, states) {
		r.t.Errorf("the queue is %v, want %v", got, states)
	}
}

func stopsIn(log []Output) (n int) {
	for _, o := range log {
		if _, ok := o.(Stop); ok {
			n++
		}
	}
	return n
}

var (
	quiz  = Owner{ForSession, "t-1"}
	brief = Owner{ForSession, "t-2"}
	asked = Owner{ForQuestion, "q-1"}
)

func TestOneSpeaksAtATimeAndQuestionsGoFirst(t *testing.T) {
	r := newMouthRig(t)
	r.say(quiz, "one")
	r.say(brief, "two")
	r.say(asked, "may I?")
	r.wantSaid("one")
	r.spoken(r.last().Task)
	r.wantSaid("one may I?")
	r.spoken(r.last().Task)
	r.spoken(r.last().Task)
	r.wantSaid("one may I? two")
	r.wantQueue()
	if wake := r.s.NextWake(); wake != 0 {
		t.Errorf("a silent mouth wakes at %d", wake)
	}
}

func TestAScreenWaitsForNoVoice(t *testing.T) {
	r := newMouthRig(t)
	r.say(quiz, "one")
	r.by(func(w *work) { w.show(Utterance{Owner: asked, Text: "yes / no"}) })
	r.wantSaid("one [yes / no]")
	if p := r.last().Params; p["question_id"] != "q-1" || p["utterance_id"] != nil {
		t.Errorf("the screen is given %v: not what its operation takes", p)
	}
	r.do(TaskAnswered{Task: r.last().Task, Accepted: true})
	r.do(TaskEnded{Task: r.last().Task, Outcome: OutcomeDone})
	if r.s.Mouth.Screen != asked {
		t.Errorf("the screen is %v's", r.s.Mouth.Screen)
	}
}

// What the robot's own events prove, and what its executor's word does not.
func TestOnlyTheRobotsOwnEventProvesThatItSpoke(t *testing.T) {
	for _, tc := range []struct {
		name  string
		plays func(r *mouthRig, task TaskID)
		ended bool // the event counted
		left  []SpeechState
	}{
		{"done alone", func(r *mouthRig, task TaskID) { r.do(TaskEnded{Task: task, Outcome: OutcomeDone}) }, false, []SpeechState{SpeechProving}},
		{"an echo", func(r *mouthRig, task TaskID) {
			r.do(Observed{Event: speechFinished, Task: task, Source: "x", Class: catalog.Echo})
		}, false, []SpeechState{SpeechLive}},
		{"of another task", func(r *mouthRig, task TaskID) { r.event(speechFinished, "t-9") }, false, []SpeechState{SpeechLive}},
		{"of nobody's task", func(r *mouthRig, task TaskID) { r.event(speechFinished, "") }, false, []SpeechState{SpeechLive}},
		{"by its name", func(r *mouthRig, task TaskID) {
			r.do(Observed{Event: speechFinished, Source: "x", Data: Values{"utterance_id": "u-1"}})
		}, true, []SpeechState{SpeechLive}},
		{"its event, then done", func(r *mouthRig, task TaskID) {
			r.event(speechFinished, task)
			r.do(TaskEnded{Task: task, Outcome: OutcomeDone})
		}, true, nil},
		{"done, then its event", func(r *mouthRig, task TaskID) {
			r.do(TaskEnded{Task: task, Outcome: OutcomeDone})
			r.event(speechFinished, task)
		}, true, nil},
		{"another service's done", func(r *mouthRig, task TaskID) {
			r.do(TaskEnded{Task: task, Outcome: OutcomeDone, Source: "other"})
		}, false, []SpeechState{SpeechLive}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newMouthRig(t)
			r.say(quiz, "one")
			r.do(TaskAnswered{Task: r.last().Task, Accepted: true})
			tc.plays(r, r.last().Task)
			r.wantQueue(tc.left...)
			if len(r.s.Mouth.Queue) > 0 && r.s.Mouth.Queue[0].Ended != tc.ended {
				t.Errorf("ended %v, want %v", r.s.Mouth.Queue[0].Ended, tc.ended)
			}
			r.pass(600_000)
			r.wantQueue() // whatever is missing, it is bounded
			if n := strings.Count(r.said(), "one"); n != 1 {
				t.Errorf("it was said %d times", n)
			}
		})
	}
}

func TestWhoIsToldToBeSilentIsSilentAtOnce(t *testing.T) {
	t.Run("waiting", func(t *testing.T) {
		r := newMouthRig(t)
		r.say(brief, "one")
		r.say(quiz, "two")
		r.by(func(w *work) { w.unsay(quiz) })
		r.spoken(r.last().Task)
		r.wantSaid("one")
	})
	t.Run("speaking", func(t *testing.T) {
		r := newMouthRig(t)
		r.say(quiz, "one")
		r.do(TaskAnswered{Task: r.last().Task, Accepted: true})
		w := newWork(r.s, r.now)
		w.unsay(quiz)
		if len(w.ch.Now) == 0 || w.ch.Now[0] != Output(Stop{Task: r.last().Task, Service: "home", Method: "setLlmTts"}) {
			t.Fatalf("the stop waits for the disk: %v", w.ch.Now)
		}
		r.adopt(w.finish())
		r.wantQueue(SpeechStopping)
		r.event(speechFinished, r.last().Task) // it comes too late to count
		r.do(TaskEnded{Task: r.last().Task, Outcome: OutcomeCancelled})
		r.wantQueue()
	})
	t.Run("one that does not fall silent", func(t *testing.T) {
		r := newMouthRig(t)
		r.say(quiz, "one")
		r.do(TaskAnswered{Task: r.last().Task, Accepted: true})
		r.by(func(w *work) { w.unsay(quiz) })
		r.say(brief, "two")
		r.pass(3*2000 + 1000)
		if n := stopsIn(r.log); n != 3 {
			t.Errorf("%d stops, want 3", n)
		}
		r.wantSaid("one (hush) two")
	})
	t.Run("one that does not fall silent over a start", func(t *testing.T) { // the word for silence may have left before the cut with the number that comes next
		r := newMouthRig(t)
		r.say(quiz, "one")
		r.do(TaskAnswered{Task: r.last().Task, Accepted: true})
		r.by(func(w *work) { w.unsay(quiz) })
		r.pass(2000 + 1000)
		r.now.Boot += 60_000
		r.do(Started{StartNo: 2})
		r.wantSaid("one (hush)")
		if task := r.last().Task; !strings.HasPrefix(string(task), "t-epoch-1-2-") {
			t.Errorf("after the second start it is called %s", task)
		}
	})
	t.Run("its words leave the screen", func(t *testing.T) {
		r := newMouthRig(t)
		r.by(func(w *work) { w.show(Utterance{Owner: quiz, Text: "Q1"}) })
		r.do(TaskEnded{Task: r.last().Task, Outcome: OutcomeDone})
		r.by(func(w *work) { w.unsay(quiz) })
		r.wantSaid("[Q1] []")
		r.do(TaskEnded{Task: r.last().Task, Outcome: OutcomeDone})
		if r.s.Mouth.Screen != (Owner{}) {
			t.Errorf("the screen is still %v's", r.s.Mouth.Screen)
		}
	})
	t.Run("but not another's", func(t *testing.T) {
		r := newMouthRig(t)
		r.by(func(w *work) { w.show(Utterance{Owner: quiz, Text: "Q1"}) })
		r.by(func(w *work) { w.show(Utterance{Owner: asked, Text: "yes / no"}) })
		r.by(func(w *work) { w.unsay(quiz) })
		for range 3 {
			r.do(TaskEnded{Task: r.last().Task, Outcome: OutcomeDone})
		}
		r.wantSaid("[Q1] [yes / no]")
		r.wantQueue()
	})
}

// What becomes of a call that comes to nothing, or of which nobody knows.
func TestWhatIsNotKnownToBeSaidIsSaidAgain(t *testing.T) {
	restart := func(r *mouthRig) {
		r.do(Started{StartNo: 2})
		r.up("run-1")
	}
	asks := func(r *mouthRig, known TaskStatus) {
		known.Task = r.last().Task
		r.do(known)
	}
	for _, tc := range []struct {
		name  string
		plays func(r *mouthRig)
		said  string
	}{
		{"busy once", func(r *mouthRig) { r.do(TaskAnswered{Task: r.last().Task, Reason: ReasonExecutorBusy}) }, "one one"},
		{"never sent", func(r *mouthRig) { r.do(TaskAnswered{Task: r.last().Task, NotSent: true}) }, "one one"},
		{"no answer, and then none to the query", func(r *mouthRig) { r.pass(3000 + 3000) }, "one one"},
		{"restart: it runs", func(r *mouthRig) { restart(r); asks(r, TaskStatus{Known: KnownRunning}) }, "one"},
		{"restart: it ended", func(r *mouthRig) {
			restart(r)
			asks(r, TaskStatus{Known: KnownEnded, Event: &Observed{Event: speechFinished}, Ended: &TaskEnded{Outcome: OutcomeDone}})
			r.wantQueue()
		}, "one"},
		{"restart: it never came", func(r *mouthRig) { restart(r); asks(r, TaskStatus{Known: KnownNot, Sealed: true}) }, "one one"},
		{"restart: no answer", func(r *mouthRig) { restart(r); asks(r, TaskStatus{Known: KnownNoAnswer}); r.pass(3000) }, "one one"},
		{"the service goes and comes", func(r *mouthRig) {
			r.do(ExecutorDown{Service: "home"})
			r.pass(10_000)
			r.up("run-2")
			asks(r, TaskStatus{Known: KnownNot, Sealed: true})
		}, "one one"},
		{"its executor failed", func(r *mouthRig) { r.do(TaskEnded{Task: r.last().Task, Outcome: OutcomeFailed}) }, "one one"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newMouthRig(t)
			r.say(quiz, "one")
			tc.plays(r)
			r.pass(speechRetryMS)
			r.wantSaid(tc.said)
		})
	}
}

func TestAnUtteranceIsBounded(t *testing.T) {
	t.Run("refused for ever", func(t *testing.T) {
		r := newMouthRig(t)
		r.say(quiz, "one")
		for range 20 {
			r.do(TaskAnswered{Task: r.last().Task, Reason: ReasonExecutorBusy})
			r.pass(speechRetryMS)
		}
		r.wantSaid("one one one one one")
		r.wantQueue()
	})
	t.Run("nobody speaks", func(t *testing.T) {
		r := newMouthRig(t)
		r.do(ExecutorDown{Service: "home"})
		r.say(quiz, "one")
		r.pass(unheardMS)
		r.wantQueue()
		r.wantSaid("")
	})
	t.Run("it never ends", func(t *testing.T) {
		r := newMouthRig(t)
		r.say(quiz, "one")
		r.do(TaskAnswered{Task: r.last().Task, Accepted: true})
		r.pass(200_000)
		r.wantQueue()
		if stopsIn(r.log) == 0 {
			t.Error("it was not stopped")
		}
	})
	t.Run("the queue", func(t *testing.T) {
		r := newMouthRig(t)
		r.by(func(w *work) {
			n := 0
			for w.say(Utterance{Owner: quiz, Text: "x"}) {
				n++
			}
			if n != maxSpeech {
				t.Errorf("%d utterances, want %d", n, maxSpeech)
			}
		})
	})
	t.Run("no voice", func(t *testing.T) {
		r := newMouthRig(t)
		r.s.cat.Voice = nil
		r.by(func(w *work) {
			if w.say(Utterance{Owner: quiz, Text: "x"}) || w.show(Utterance{Owner: quiz, Text: "x"}) || w.canSpeak() {
				t.Error("a robot without a voice speaks")
			}
		})
	})
}

func TestAnotherBootMovesTheMouth(t *testing.T) {
	r := newMouthRig(t)
	r.say(quiz, "one")
	r.say(quiz, "two")
	r.now.BootID, r.now.Boot, r.now.WallMS = "boot-2", 5, r.now.WallMS+60_000
	r.do(Started{StartNo: 2})
	if wake := r.s.NextWake(); wake == 0 || wake > 5+unheardMS {
		t.Errorf("wakes at %d", wake)
	}
	r.up("run-2")
	r.do(TaskStatus{Task: r.last().Task, Known: KnownNot, Sealed: true})
	r.pass(speechRetryMS)
	r.wantSaid("one one")
}

func TestTheParametersOfAnUtterance(t *testing.T) {
	r := newMouthRig(t)
	r.by(func(w *work) { w.say(Utterance{Owner: quiz, Text: "one", First: true, Fresh: true}) })
	want := Values{"text": "one", "utterance_id": "u-1", "session_id": "t-1", "first": true, "last": false, "fresh": true}
	for k, v := range want {
		if r.last().Params[k] != v {
			t.Errorf("%s is %v, want %v", k, r.last().Params[k], v)
		}
	}
}
