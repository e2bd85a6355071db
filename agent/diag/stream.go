package diag

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"deviceagent/taskmanager/core"
)

// The events of a stream.
const (
	EventLive = "live" // the stream has begun: Live
	EventMove = "move" // something moved: MoveEvent
	EventGap  = "gap"  // moves are missing: Gap
	EventEnd  = "end"  // the workflow that was asked for has ended: End
	EventBye  = "bye"  // the agent stops
)

// Live begins a stream: from here on nothing is missed without a gap.
type Live struct {
	Seq      int64  `json:"seq"`
	Workflow string `json:"workflow_id,omitempty"`
	StartNo  int64  `json:"start_no"` // another number than before: the agent restarted meanwhile
	Cause    string `json:"start_cause,omitempty"`
}

// MoveEvent is one move and the device's time when it was told.
type MoveEvent struct {
	core.Move
	At string `json:"at"`
}

// Gap says that moves with these sequence numbers may be missing.
type Gap struct {
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Reason string `json:"reason"` // slow_reader, not_kept, lost
}

// End is how a workflow ended.
type End struct {
	Workflow string `json:"workflow_id"`
	State    string `json:"state"`
	Reason   string `json:"reason_code,omitempty"`
}

// watch streams moves as server-sent events. With ?id= only those of one workflow, and it ends with it.
func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	from, p := start(r)
	if p != nil {
		s.problem(w, p)
		return
	}
	cur, gap := s.hub.open(from)
	st := stream{s: s, w: w, rc: http.NewResponseController(w)}
	live, end, p := s.watched(r.Context(), r.URL.Query().Get("id"))
	if p != nil {
		s.problem(w, p)
		return
	}
	st.id = live.Workflow
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	st.event(EventLive, "", live)
	if gap != nil {
		st.event(EventGap, strconv.FormatInt(gap.To, 10), gap)
	}
	st.run(r.Context(), cur, end)
}

func start(r *http.Request) (*position, *Problem) {
	text := or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("from"))
	if text == "" {
		return nil, nil
	}
	p, err := parsePosition(text)
	if err != nil {
		return nil, NewProblem(CodeBadValue, err.Error(), "")
	}
	if !strings.Contains(text, ".") && r.Header.Get("Last-Event-ID") == "" {
		p.n = maxPerEvent // ?from= is the asOf.seq of a document, which has all moves of that event
	}
	return &p, nil
}

// watched finds the workflow and says how it ended, if it has.
func (s *server) watched(ctx context.Context, id string) (live Live, end *End, p *Problem) {
	facts := s.agent.Status()
	live.StartNo, live.Cause = facts.StartNo, facts.StartCause
	err := s.inspect(ctx, func(st *core.State, now core.Now) {
		live.Seq = now.Seq - 1
		if id == "" {
			return
		}
		var wf *core.Workflow
		if wf, p = (view{s: st, now: now, zone: s.zone}).find(id); p != nil {
			return
		}
		live.Workflow = string(wf.Plan.Workflow)
		if wf.State.Terminal() {
			end = &End{Workflow: live.Workflow, State: string(wf.State), Reason: string(wf.Reason)}
		}
	})
	if err != nil {
		return live, nil, err
	}
	return live, end, p
}

// stream is one reader. A write that takes longer than the bound ends it.
type stream struct {
	s    *server
	w    http.ResponseWriter
	rc   *http.ResponseController
	id   string // of the workflow, "" for all
	fail error
}

func (st *stream) run(ctx context.Context, cur cursor, end *End) {
	beat := time.NewTicker(st.s.heartbeat)
	defer beat.Stop()
	for st.fail == nil {
		entries, gap, more := st.s.hub.take(&cur)
		if gap != nil {
			st.event(EventGap, strconv.FormatInt(gap.To, 10), gap)
		}
		for _, e := range entries {
			if done := st.entry(e); done != nil && end == nil {
				end = done
			}
		}
		if (gap != nil || end != nil) && st.id != "" {
			// The end itself may have been in the gap; and the state knows better than the move why it ended.
			if _, now, _ := st.s.watched(ctx, st.id); now != nil {
				end = now
			}
		}
		if end != nil {
			st.event(EventEnd, "", end)
			return
		}
		st.flush()
		select {
		case <-more:
		case <-beat.C:
			st.write(": alive\n\n")
		case <-ctx.Done():
			return
		case <-st.s.stopping:
			st.event(EventBye, "", struct{}{})
			return
		}
	}
}

// entry writes one entry; an End where it is the one that ends the workflow.
func (st *stream) entry(e entry) *End {
	if e.gap != nil {
		st.event(EventGap, e.id.String(), e.gap)
		return nil
	}
	if st.id != "" && st.id != string(e.mv.Workflow) {
		return nil
	}
	st.event(EventMove, e.id.String(), MoveEvent{Move: e.mv, At: e.at.In(st.s.zone).Format(timeForm)})
	if whole := e.mv.Step == "" && e.mv.Effect == ""; st.id != "" && whole && core.WorkflowState(e.mv.To).Terminal() {
		return &End{Workflow: st.id, State: e.mv.To, Reason: string(e.mv.Reason)}
	}
	return nil
}

func (st *stream) event(kind, id string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		st.fail = err
		return
	}
	text := "event: " + kind + "\n"
	if id != "" {
		text += "id: " + id + "\n"
	}
	st.write(text + "data: " + string(data) + "\n\n")
}

func (st *stream) write(text string) {
	if st.fail != nil {
		return
	}
	_ = st.rc.SetWriteDeadline(time.Now().Add(st.s.write))
	if _, st.fail = st.w.Write([]byte(text)); st.fail == nil && strings.HasPrefix(text, ":") {
		st.flush()
	}
}

func (st *stream) flush() {
	if st.fail == nil {
		st.fail = st.rc.Flush()
	}
}
