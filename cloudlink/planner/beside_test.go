package planner

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"testing"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// Turns of one device that are thought about beside each other.

// Two yeses to one question that are heard at once are one: the second does nothing, and says so.
func TestOneQuestionIsAnsweredOnce(t *testing.T) {
	r := newRig(t).real()
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	r.turn("rb-1", "청정 예약해줘")
	ask := turnRequest{DeviceID: "rb-1", RecognizedText: "매일 오후 6시", Locale: "ko-KR"}
	var rows [2]store.Turn
	var answers [2]turnAnswer
	var plans [2]*wire.Plan
	for i := range rows { // both are thought about before either is kept
		rows[i] = store.Turn{ID: "t-" + string(rune('a'+i)), DeviceID: "rb-1", CreatedAt: ms(r.clock.now())}
		var err error
		if answers[i], plans[i], err = r.server.plan(t.Context(), rows[i], ask); err != nil || plans[i] == nil {
			t.Fatal(err)
		}
	}
	for i, code := range []string{"", "answered_meanwhile"} {
		_, _, err := r.server.keepTurn(t.Context(), rows[i], answers[i], r.server.messages(&answers[i], plans[i], ask), true)
		p, _ := errors.AsType[*problem](err)
		if (p == nil) != (code == "") || p != nil && (p.Code != code || p.Status != http.StatusConflict) {
			t.Errorf("answer %d: %v", i, err)
		}
	}
	oneOf(t, r.get("/v1/schedules"))
}

// A request that comes again while the first is thought about is answered by the first: one plan goes down, and one turn is told of.
func TestARepeatBesideTheFirst(t *testing.T) {
	r := newRig(t).real()
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	ask := turnRequest{DeviceID: "rb-1", RecognizedText: "청정해줘", Locale: "ko-KR"}
	told := r.server.hub.subscribe()
	defer r.server.hub.leave(told)
	var said [2]string
	for i := range said {
		row := store.Turn{ID: "t-" + strconv.Itoa(i), DeviceID: "rb-1", CreatedAt: ms(r.clock.now()), IdemKey: "voice-1", RequestSHA: ask.sum()}
		a, plan, err := r.server.plan(t.Context(), row, ask)
		if err != nil {
			t.Fatal(err)
		}
		send := r.server.messages(&a, plan, ask)
		_, body, err := r.server.keepTurn(t.Context(), row, a, send, true)
		if err != nil {
			t.Fatal(err)
		}
		said[i] = string(body.(json.RawMessage))
	}
	if said[0] != said[1] {
		t.Errorf("answered %s, then %s", said[0], said[1])
	}
	d.say(d.ack(d.next(wire.TypePlan), ""))
	d.quiet()
	turns := 0
	for len(told.events) > 0 {
		if e := <-told.events; e.Kind == "turn" {
			turns++
		}
	}
	if turns != 1 {
		t.Errorf("%d turns were told of", turns)
	}
}
