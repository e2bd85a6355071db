package firmware

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/agent/local"
	"deviceagent/bridge/wire"
	busfiles "deviceagent/packaging/dbus"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// The agent's own errors on the bus.
const (
	errorNotStored = Name + ".Error.NotStored" // the device cannot store it now; nothing was changed
	errorStopping  = Name + ".Error.Stopping"
	errorNoAnswer  = Name + ".Error.NoAnswer" // it was handed in; whether it was taken is not known
	errorNotSource = Name + ".Error.NotSource"
	errorNoLease   = Name + ".Error.NoLease"
	errorRestart   = Name + ".Error.RestartAnnounced"
)

// fault is one thing that is wrong with what was handed in; it travels as (ss).
type fault struct{ Path, Text string }

// exported has the methods of the interface. They are called side by side.
type exported struct{ s *session }

// methods name what the bus may call. A table, since looking methods up by reflection would keep every exported method of the whole program
// in the binary: 2.4 MB on a robot.
func (e exported) methods() map[string]any {
	return map[string]any{
		"Status": e.Status, "Submit": e.Submit, "Cancel": e.Cancel, "Answer": e.Answer, "Hold": e.Hold, "Release": e.Release,
		"ReportEvent": e.ReportEvent, "MayRestart": e.MayRestart, "PrepareRestart": e.PrepareRestart, "CallOffRestart": e.CallOffRestart,
		"Busy": e.Busy, "Done": e.Done, "FactoryReset": e.FactoryReset,
	}
}

func (s *session) export() error {
	p := props{s}
	for _, x := range []struct {
		methods map[string]any
		iface   string
	}{
		{exported{s}.methods(), Interface},
		{map[string]any{"Get": p.Get, "GetAll": p.GetAll, "Set": p.Set}, properties},
		{map[string]any{"Introspect": introspected{s}.Introspect}, busName + ".Introspectable"},
	} {
		if err := s.conn.ExportMethodTable(x.methods, Path, x.iface); err != nil {
			return err
		}
	}
	return nil
}

// introspected answers with the XML that is installed.
type introspected struct{ s *session }

// Introspect gives the XML of the object.
func (i introspected) Introspect(from godbus.Sender) (string, *godbus.Error) {
	_, done, fail := i.s.admit(from, "Introspect", reader)
	if fail != nil {
		return "", fail
	}
	defer done()
	return busfiles.Agent1, nil
}

// Status is one look at everything.
func (e exported) Status(from godbus.Sender) (map[string]godbus.Variant, *godbus.Error) {
	_, done, fail := e.s.admit(from, "Status", reader)
	if fail != nil {
		return nil, fail
	}
	defer done()
	return e.s.status()
}

func (s *session) status() (map[string]godbus.Variant, *godbus.Error) {
	snap, err := s.look(s.conn.Context())
	if err != nil {
		return nil, failureOf(err)
	}
	out := s.values(snap)
	standing, _ := s.leases.standing(time.Now())
	words := []string{}
	for _, l := range standing {
		words = append(words, l.words(time.Now()))
	}
	goals := []struct{ ID, State, Reason string }{}
	for _, g := range snap.goals {
		goals = append(goals, struct{ ID, State, Reason string }{g.id, g.state, g.reason})
	}
	holders := []struct{ ID, By, Why string }{}
	for _, h := range snap.holders {
		holders = append(holders, struct{ ID, By, Why string }{h.id, h.by, h.why})
	}
	for key, v := range map[string]any{"Contract": wire.Version, "RoomsEtag": snap.rooms, "Leases": words, "Workflows": goals, "HeldBy": holders} {
		out[key] = godbus.MakeVariant(v)
	}
	return out, nil
}

// Submit hands in a plan.
func (e exported) Submit(plan string, from godbus.Sender) (accepted bool, workflow, code string, faults []fault, fail *godbus.Error) {
	c, done, fail := e.s.admit(from, "Submit", control)
	if fail != nil {
		return false, "", "", nil, fail
	}
	defer done()
	body := bytes.TrimSpace([]byte(plan))
	if !json.Valid(body) || body[0] != '{' {
		return false, "", "", nil, failure("InvalidArgs", "a plan is one JSON object")
	}
	ans, fail := e.s.hand(c, "submit", wire.TypePlan, body)
	return ans.Accepted, string(ans.Workflow), string(ans.Reason), faultsOf(ans), fail
}

func faultsOf(ans core.Answer) []fault {
	out := []fault{}
	for _, f := range ans.Faults {
		out = append(out, fault{clean(f.Path), clean(f.Message)})
	}
	return out
}

// Cancel cancels one thing or everything.
func (e exported) Cancel(scope, target, reason string, from godbus.Sender) (accepted bool, state, code string, stopping []string, fail *godbus.Error) {
	c, done, fail := e.s.admit(from, "Cancel", control)
	if fail != nil {
		return false, "", "", nil, fail
	}
	defer done()
	if reason == "" {
		return false, "", "", nil, failure("InvalidArgs", "a cancel says why")
	}
	ans, fail := e.s.control(c, wire.Control{Verb: "cancel", Scope: scope, Target: target, Reason: reason})
	return ans.Accepted, ans.State, string(ans.Reason), append([]string{}, ans.Stopping...), fail
}

// control hands in a wish of a caller.
func (s *session) control(c caller, w wire.Control) (core.Answer, *godbus.Error) {
	w.RequestedBy = c.String()
	body, err := json.Marshal(w)
	if err != nil {
		return core.Answer{}, failureOf(err)
	}
	return s.hand(c, w.Verb+" "+w.Scope, wire.TypeControl, body)
}

// hand hands in a message and waits for its durable answer. Each is logged with who sent it.
func (s *session) hand(c caller, what string, t wire.Type, body []byte) (core.Answer, *godbus.Error) {
	id, message, err := local.Wrap(t, s.o.Agent.Facts().DeviceID, time.Now(), body)
	if err != nil {
		return core.Answer{}, failureOf(err)
	}
	ans, err := local.HandIn(s.conn.Context(), s.o.Agent, message)
	log := s.o.Log.With().Str("command", what).Str("message_id", id).Uint32("uid", c.uid).Uint32("pid", c.pid).Str("sender", c.name).Logger()
	if err != nil {
		log.Warn().Err(err).Msg("bus call not answered")
		return ans, failureOf(err)
	}
	log.Info().Str("workflow_id", string(ans.Workflow)).Bool("accepted", ans.Accepted).Str("reason_code", string(ans.Reason)).Msg("bus call")
	return ans, nil
}

// failureOf names why there is no answer.
func failureOf(err error) *godbus.Error {
	name := busError + "Failed"
	switch {
	case errors.Is(err, taskmanager.ErrNotCommitted):
		name = errorNotStored
	case errors.Is(err, taskmanager.ErrStopped), errors.Is(err, context.Canceled):
		name = errorStopping
	case errors.Is(err, context.DeadlineExceeded):
		name = errorNoAnswer
	}
	return godbus.NewError(name, []any{clean(err.Error())})
}

// Answer answers a question.
func (e exported) Answer(id, chosen string, from godbus.Sender) (accepted bool, code string, fail *godbus.Error) {
	c, done, fail := e.s.admit(from, "Answer", control)
	if fail != nil {
		return false, "", fail
	}
	defer done()
	if strings.HasPrefix(id, "q-") { // to the user: whether it is open, and has that answer, the agent decides
		return e.s.answerUser(c, id, chosen)
	}
	snap, err := e.s.look(e.s.conn.Context())
	if err != nil {
		return false, "", failureOf(err)
	}
	q, open := snap.questions[id]
	if open && !slices.ContainsFunc(q.options, func(o option) bool { return o.ID == chosen }) {
		return false, string(core.ReasonNotAllowed), nil
	}
	if !open {
		return false, string(core.ReasonUnknownTarget), nil
	}
	body, err := json.Marshal(wire.Decision{EscalationID: id, Action: chosen, PlanRevision: q.revision, Reason: "answered by " + c.String()})
	if err != nil {
		return false, "", failureOf(err)
	}
	ans, fail := e.s.hand(c, "answer", wire.TypeDecision, body)
	return ans.Accepted, string(ans.Reason), fail
}

// answerUser hands in what the user has chosen.
func (s *session) answerUser(c caller, id, chosen string) (accepted bool, code string, fail *godbus.Error) {
	body, err := json.Marshal(wire.Answer{QuestionID: id, Option: chosen, By: c.String()})
	if err != nil {
		return false, "", failureOf(err)
	}
	ans, fail := s.hand(c, "answer", wire.TypeAnswer, body)
	return ans.Accepted, string(ans.Reason), fail
}

// MayRestart says whether the robot may be restarted now.
func (e exported) MayRestart(from godbus.Sender) (may bool, reasons []reason, retryMS uint64, fail *godbus.Error) {
	_, done, fail := e.s.admit(from, "MayRestart", reader)
	if fail != nil {
		return false, nil, 0, fail
	}
	defer done()
	snap, err := e.s.look(e.s.conn.Context())
	if err != nil {
		return false, nil, 0, failureOf(err)
	}
	reasons, retry := e.s.against(snap, "", time.Now())
	return len(reasons) == 0, reasons, retry, nil
}

// Bounds of what is said about when to ask again, ms: not in a loop, and not never, for a lease may be given back and a task may end early.
const (
	minRetryMS = 1_000
	maxRetryMS = 60_000
)

// against lists all that a restart would break now, but for the leases of who asks, and when to ask again.
func (s *session) against(snap snapshot, asks string, now time.Time) (out []reason, retryMS uint64) {
	out = []reason{}
	left := snap.leftMS
	if !s.o.Agent.Facts().Ready {
		out = append(out, reason{"starting", "the agent does not know yet what is under way"})
	}
	if wait := s.o.Settle - now.Sub(s.since); wait > 0 {
		out = append(out, reason{"settling", "who was busy before the agent came to the bus may still have to say so"})
		left = max(left, wait.Milliseconds())
	}
	out = append(out, snap.inHand...)
	standing, _ := s.leases.standing(now)
	for _, l := range standing {
		if l.owner == asks {
			continue
		}
		out = append(out, reason{"busy", l.words(now)})
		left = max(left, l.until.Sub(now).Milliseconds())
	}
	if len(out) == 0 {
		return out, 0
	}
	return out, uint64(min(max(left, minRetryMS), maxRetryMS))
}

// words tells a lease to people.
func (l lease) words(now time.Time) string {
	return l.reason + ", says user " + strconv.FormatUint(uint64(l.who.uid), 10) + " (" + l.owner + ", pid " + strconv.FormatUint(uint64(l.who.pid), 10) +
		"); at most " + l.until.Sub(now).Round(time.Second).String() + " more"
}

// Busy takes a lease.
func (e exported) Busy(why string, seconds uint32, from godbus.Sender) (string, *godbus.Error) {
	c, done, fail := e.s.admit(from, "Busy", control)
	if fail != nil {
		return "", fail
	}
	defer done()
	d := time.Duration(seconds) * time.Second
	if why == "" || len(why) > maxText || d <= 0 || d > maxLeaseTime {
		return "", failure("InvalidArgs", "a lease has a reason of at most 200 bytes, and lasts 1 to 3600 seconds")
	}
	return e.s.lend(c, why, d)
}

// lend gives a caller a lease.
func (s *session) lend(c caller, why string, d time.Duration) (string, *godbus.Error) {
	id, err := s.leases.take(c, why, d, time.Now())
	if errors.Is(err, errRestart) {
		return "", godbus.NewError(errorRestart, []any{err.Error()})
	}
	if err != nil {
		return "", failure("LimitsExceeded", err.Error())
	}
	// An owner who went before this call was answered was told to us before there was a lease to end.
	ctx, cancel := context.WithTimeout(s.conn.Context(), askTime)
	defer cancel()
	var there bool
	if err := s.call(ctx, "NameHasOwner", c.name).Store(&there); err != nil || !there {
		s.leases.gone(c.name)
		return "", failure("Failed", "the owner of the lease has gone")
	}
	s.o.Log.Info().Str("lease", id).Str("owner", c.name).Uint32("uid", c.uid).Uint32("pid", c.pid).Str("reason", why).Dur("for_ms", d).Msg("lease taken")
	return id, nil
}

// maxText bounds what is kept of a caller's words. Bytes. Source: docs/agent-dbus.md, leases.
const maxText = 200

// Done ends a lease.
func (e exported) Done(id string, from godbus.Sender) *godbus.Error {
	c, done, fail := e.s.admit(from, "Done", control)
	if fail != nil {
		return fail
	}
	defer done()
	if err := e.s.leases.done(c.name, id); err != nil {
		return godbus.NewError(errorNoLease, []any{err.Error()})
	}
	e.s.o.Log.Info().Str("lease", id).Str("owner", c.name).Msg("lease ended by its owner")
	return nil
}
