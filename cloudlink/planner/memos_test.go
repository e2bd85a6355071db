package planner

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// Over HTTP: an offer outside approved hours is not made, an approval is a spoken yes that outlives a restart, a yes to an offer sends the
// order, a refusal holds for good until it is erased, and what is kept of one home is not told of another.
func TestOffersAndPreferences(t *testing.T) {
	r := newRig(t).real()
	r.start() // 18:00 in Seoul
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	offer := func(reason string) {
		t.Helper()
		v := r.must(http.StatusOK, "POST", "/v1/devices/rb-1/offers", `{"request":"청정해줘"}`)
		want(t, v, "made", reason == "")
		if reason != "" {
			want(t, v, "reason_code", reason)
		}
	}
	offer("offer_not_approved")
	r.turn("rb-1", "저녁 7시부터 9시까지 청정할지 물어봐 줘")
	offer("offer_not_approved") // it was asked, and nobody has answered
	r.turn("rb-1", "응")
	offer("offer_outside_hours")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r.start()
	d.hello("1.1")
	r.clock.advance(time.Hour)
	want(t, r.must(http.StatusOK, "POST", "/v1/devices/rb-2/offers", `{"request":"청정해줘"}`), "reason_code", "offer_not_approved")
	want(t, r.must(http.StatusOK, "POST", "/v1/devices/rb-1/offers", `{"request":"다 그만"}`), "reason_code", "offer_not_an_order")
	want(t, r.must(http.StatusOK, "POST", "/v1/devices/rb-1/offers", `{"request":"거실로 가서 청정해줘"}`), "reason_code", "offer_not_an_order") // only cleaning was approved
	offer("")
	want(t, r.turn("rb-1", "응 해줘"), "dispatched", true)
	plan := d.next(wire.TypePlan)
	if len(plan.Plan.Requests) != 1 || plan.Plan.Requests[0].TaskMethod != "startBasicAirClear" || plan.Plan.Workflow.Schedule != nil {
		t.Errorf("sent %+v", plan.Plan.Requests)
	}
	d.say(d.ack(plan, ""))
	offer("offer_too_soon")
	r.clock.advance(time.Hour)
	offer("")
	r.turn("rb-1", "아니, 다시는 묻지 마")
	r.clock.advance(24*time.Hour - 30*time.Minute)
	offer("offer_refused")

	list := r.get("/v1/preferences?device_id=rb-1")["preferences"].([]any)
	if len(list) != 2 {
		t.Fatalf("kept %v", list)
	}
	for _, m := range list {
		if v := m.(object); v["kind"] == "refusal" {
			r.must(http.StatusOK, "DELETE", "/v1/preferences/"+v["id"].(string), "")
			r.must(http.StatusNotFound, "DELETE", "/v1/preferences/"+v["id"].(string), "")
		}
	}
	offer("")
	r.turn("rb-1", "나는 재즈를 좋아해")
	if n := len(r.get("/v1/preferences")["preferences"].([]any)); n != 1 {
		t.Errorf("%d are kept before a yes", n)
	}
	r.turn("rb-1", "응")
	r.turn("rb-1", "나는 재즈를 좋아해")
	r.turn("rb-1", "네") // the same again is kept once
	if n := len(r.get("/v1/preferences?device_id=rb-1")["preferences"].([]any)); n != 2 {
		t.Errorf("%d are kept", n)
	}
	if n := len(r.get("/v1/preferences?device_id=rb-2")["preferences"].([]any)); n != 0 {
		t.Errorf("%d are kept of another home", n)
	}
	r.turn("rb-2", "기억한 거 다 지워 줘")
	r.turn("rb-1", "기억한 거 다 지워 줘")
	if n := len(r.get("/v1/preferences")["preferences"].([]any)); n != 0 {
		t.Errorf("%d are kept after all was erased", n)
	}
	r.must(http.StatusUnprocessableEntity, "POST", "/v1/devices/rb-1/offers", `{"request":""}`)
	r.must(http.StatusUnprocessableEntity, "POST", "/v1/devices/rb-1/offers", `{"request":"청정해줘","timezone":"Mars"}`)
}

// Who says again what is kept already says nothing more, also where no more can be kept.
func TestAFullMemoryTakesWhatItHas(t *testing.T) {
	r := newRig(t).real()
	st, err := store.Open(t.Context(), r.path)
	if err != nil {
		t.Fatal(err)
	}
	err = st.Update(t.Context(), func(tx *store.Tx) error {
		for i := range memosMost {
			text := "나는 재즈를 좋아해"
			if i > 0 {
				text += strconv.Itoa(i)
			}
			if err := tx.AddMemo(store.Memo{ID: strconv.Itoa(i), DeviceID: "rb-1", CreatedAt: int64(i), Body: []byte(`{"kind":"preference","text":"` + text + `"}`)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.turn("rb-1", "나는 재즈를 좋아해")
	r.turn("rb-1", "응")
	r.turn("rb-1", "나는 감자를 좋아해")
	want(t, r.must(http.StatusTooManyRequests, "POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"응"}`), "code", "memory_full")
}
