package model

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"deviceagent/cloudlink/planner/turn"
	"deviceagent/testbed/modelserver"
)

// faultOf is what each behaviour has to end in; "" where the model is of use.
var faultOf = map[string]Code{
	"honest": "", "thinking": "", "fenced": "", "no_usage": "", "bad_then_good": "", "busy_once": "", "down_once": "",
	"cut_off": CutOff, "refusal": Blocked, "empty": Empty, "no_answer": Empty,
	"stall": Deadline, "slow_headers": Deadline, "trickle": Deadline, "huge": TooLarge, "hang_up": Unreachable, "wrong_type": NotJSON, "no_frame": NotJSON,
	"redirect": Redirected, "busy": Overloaded, "busy_now": Overloaded, "down": ServerFault, "unauthorized": Unauthorized, "bad_request": Refused, "no_content": NotJSON,
	// Well-formed and registered: what they say is judged by the guard and by what may be spoken.
	"lie": "", "promise": "", "raw_speech": "", "long_speech": "", "unasked_act": "",
}

// TestWhateverAModelDoes: every way to be wrong, by both protocols, for sentences that the rules plan, ask about, refuse and talk
// about. The turn ends in time, in a decision that a device would take or in words, never in the model's own raw text.
func TestWhateverAModelDoes(t *testing.T) {
	sentences := []string{"거실로 가서 청정하고 안방으로 가", "천천히 주방으로 가", "유튜브 틀어줘", "오늘 좀 힘들었어", "매일 오후 여섯 시에 고정청정 예약해 줘"}
	for _, provider := range []string{OpenAI, Gemini} {
		for _, b := range modelserver.Behaviours {
			t.Run(provider+"/"+b.Name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, provider)
				r.behave(b.Name)
				if faultOf[b.Name] == Deadline {
					r.opt.Deadline = shortTurn
				}
				for _, said := range sentences {
					if slow := faultOf[b.Name] == Deadline || faultOf[b.Name] == ServerFault || b.Name == "busy_now"; slow && !slices.Contains(sentences[:2], said) {
						continue // a good part of a second each
					}
					draft := r.draft(said)
					d := r.turn(r.planner(), said)
					r.holds(d, draft, said)
					want, listed := faultOf[b.Name]
					if got := Code(d.Model.Fault); listed && got != want {
						t.Errorf("%q: fault %q, want %q", said, got, want)
					}
				}
				if n := r.fake.Elsewhere(); n != 0 {
					t.Errorf("a redirect was followed %d times", n)
				}
			})
		}
	}
}

// holds is what is true of any turn, whatever the model says.
func (r *rig) holds(d, draft turn.Decision, said string) {
	r.t.Helper()
	all := text64(d)
	if strings.Contains(all, modelserver.Canary) || strings.Contains(r.log.String(), modelserver.Canary) {
		r.t.Errorf("%q: the model's raw text is in %s", said, all)
	}
	if strings.Contains(all, canaryKey) || strings.Contains(r.log.String(), canaryKey) {
		r.t.Errorf("%q: the key is in %s or in the log", said, all)
	}
	if d.TTSResponse == "" || !plain(d.TTSResponse, mostSpoken) && d.TTSResponse != draft.TTSResponse {
		r.t.Errorf("%q: says %q", said, d.TTSResponse)
	}
	if d.Model == nil {
		r.t.Fatalf("%q: nobody says what the model did", said)
	}
	if d.Model.Verdict == Fallback {
		d.Model, d.ModelCalls = nil, 0
		if got, want := text64(d), text64(draft); got != want {
			r.t.Errorf("%q fell back to %s, the rules say %s", said, got, want)
		}
		return
	}
	if anchored(draft) && !same(draft, d) {
		r.t.Errorf("%q: %s replaced an anchored decision by %s", said, d.Model.Verdict, all)
	}
	if len(d.Steps) > 0 {
		if faults := checker(r.opt.Catalog)(turn.Input{TurnID: "tn_1", Text: said, Locale: "ko-KR"}, d); len(faults) > 0 {
			r.t.Errorf("%q: a device would refuse: %v", said, faults)
		}
	}
}

// TestCallsAreBounded: the server counts. One question, one repair of an answer, and again only where the server asks for it.
func TestCallsAreBounded(t *testing.T) {
	for name, want := range map[string]int{
		"honest": 1, "prose": 2, "invented_agent": 2, "bad_then_good": 2, "cut_off": 1, "refusal": 1, "unauthorized": 1, "redirect": 1, "wrong_type": 1, "hang_up": 1, "huge": 1,
		"busy":      1, // its hour does not fit into the deadline
		"busy_once": 2, // again at once, as the server says
		"down_once": 2,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, OpenAI)
			r.behave(name)
			r.turn(r.planner(), "거실로 가서 청정하고 안방으로 가")
			if got := len(r.fake.Asked()); got != want {
				t.Errorf("%d requests came, want %d", got, want)
			}
		})
	}
}

// TestWhatIsDownIsLeftAlone: three failures in a row, and nobody waits for it any more for a while.
func TestWhatIsDownIsLeftAlone(t *testing.T) {
	r := newRig(t, OpenAI)
	clock := &fakeClock{}
	r.opt.Now = clock.now
	r.behave("unauthorized")
	p := r.planner()
	for range failuresInRow {
		r.turn(p, "오늘 좀 힘들었어")
	}
	if d := r.turn(p, "오늘 좀 힘들었어"); d.Model.Fault != string(Resting) || d.ModelCalls != 0 {
		t.Errorf("after %d failures: %+v", failuresInRow, d.Model)
	}
	r.behave("honest")
	clock.advance(restFor)
	if d := r.turn(p, "오늘 좀 힘들었어"); d.Model.Fault != "" {
		t.Errorf("after its rest: %+v", d.Model)
	}
}

// TestStopsWaitForNoModel: what stops the robot, or all of its work, is decided before anybody is asked.
func TestStopsWaitForNoModel(t *testing.T) {
	r := newRig(t, OpenAI)
	r.behave("stall")
	p := r.planner()
	for _, said := range []string{"멈춰", "다 그만", "청정 꺼줘", "다 그만하고 충전대로 돌아가"} {
		if d := r.turn(p, said); d.Model != nil || text64(d) != text64(r.draft(said)) {
			t.Errorf("%q: %s", said, text64(d))
		}
	}
}

// TestWhenToAskAgain: as the server says, in either form, and never where it will not help or the deadline does not allow it.
func TestWhenToAskAgain(t *testing.T) {
	soon := time.Now().Add(40 * time.Second).UTC().Format(http.TimeFormat)
	for _, tc := range []struct {
		status      int
		said        string
		least, most time.Duration
	}{
		{429, "", 0, 0}, {503, "7", 7 * time.Second, 7 * time.Second}, {429, "-5", 0, 0}, {429, "999999999999", 24 * time.Hour, 24 * time.Hour}, {500, "soon", 0, 0},
		{429, soon, 30 * time.Second, 40 * time.Second}, {502, "Mon, 01 Jan 2001 00:00:00 GMT", 0, 0}, {504, "0", 0, 0},
		{400, "1", never, never}, {401, "1", never, never}, {302, "1", never, never}, {501, "1", never, never}, {404, "", never, never},
	} {
		got := retryAfter(&http.Response{StatusCode: tc.status, Header: http.Header{"Retry-After": {tc.said}}})
		if got < tc.least || got > tc.most {
			t.Errorf("%d with %q: %s, want %s to %s", tc.status, tc.said, got, tc.least, tc.most)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if began := time.Now(); sleep(ctx, time.Minute) || time.Since(began) > 4*time.Second {
		t.Error("waits for what does not fit into the deadline")
	}
	if !sleep(ctx, 0) {
		t.Error("has no time, though there is some")
	}
	cancel()
	if sleep(ctx, time.Second) {
		t.Error("goes on after the end")
	}
}

// TestFaultsNameThePlace: who was asked, where, and what to do; of a server that does not run, too.
func TestFaultsNameThePlace(t *testing.T) {
	r := newRig(t, OpenAI)
	r.opt.URL = "http://127.0.0.1:1/v1" // nobody listens there
	d := r.turn(r.planner(), "주방으로 가")
	if d.Model.Fault != string(Unreachable) || d.ModelCalls != 0 {
		t.Errorf("%+v, %d requests", d.Model, d.ModelCalls)
	}
	if text := r.log.String(); !strings.Contains(text, "cannot ask model tiny at 127.0.0.1:1 (openai): unreachable") || !strings.Contains(text, todo[Unreachable]) {
		t.Errorf("the log says %s", text)
	}
}
