package diag

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"deviceagent/agent/local"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// submit hands in a plan. The answer says that it was accepted, and never that it was done.
func (s *server) submit(r *http.Request) (reply, *Problem) {
	body, p := s.body(r)
	if p != nil {
		return reply{}, p
	}
	if !json.Valid(body) {
		return reply{}, notJSON(body)
	}
	if bytes.TrimSpace(body)[0] != '{' {
		return reply{}, NewProblem(CodeMalformed, "a plan is a JSON object", "")
	}
	dry, err := strconv.ParseBool(or(r.URL.Query().Get("dry_run"), "false"))
	if err != nil {
		return reply{}, NewProblem(CodeBadValue, "dry_run is true or false", "")
	}
	return s.command(r, "plan", wire.TypePlan, body, dry)
}

// notJSON says where a text stops being JSON.
func notJSON(body []byte) *Problem {
	var v any
	err := json.Unmarshal(body, &v)
	p := NewProblem(CodeMalformed, "", "")
	p.Detail = "it is not JSON"
	if err != nil {
		p.Detail += ": " + err.Error()
	}
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		p.Detail += " at byte " + strconv.FormatInt(se.Offset, 10)
	}
	return p
}

// wishBody is what a cancel, kill, pause or resume is told.
type wishBody struct {
	Reason string `json:"reason"`
	Step   string `json:"step"`
	Holder string `json:"holder"` // of a resume: whose hold it ends, instead of an operator's own
}

// wish asks something of a workflow or of one of its steps. The id has to be exact: a prefix is good enough to look, not to act.
func wish(verb string) func(*server, *http.Request) (reply, *Problem) {
	return func(s *server, r *http.Request) (reply, *Problem) {
		b, p := s.wishBody(r, verb)
		if p != nil {
			return reply{}, p
		}
		c := wire.Control{Verb: verb, Scope: "workflow", Target: r.PathValue("id"), Reason: b.Reason, Holder: b.Holder}
		if b.Step != "" {
			c.Scope, c.Target = "step", c.Target+"/"+b.Step
		}
		return s.control(r, c)
	}
}

// wishAll asks it of everything.
func wishAll(verb string) func(*server, *http.Request) (reply, *Problem) {
	return func(s *server, r *http.Request) (reply, *Problem) {
		b, p := s.wishBody(r, verb)
		if p != nil {
			return reply{}, p
		}
		if b.Step != "" {
			return reply{}, NewProblem(CodeBadValue, "step goes with a workflow", "")
		}
		return s.control(r, wire.Control{Verb: verb, Scope: "all", Reason: b.Reason, Holder: b.Holder})
	}
}

// answerBody is what a question to the user is told.
type answerBody struct {
	Option string `json:"option"`
}

// answer answers a question to the user with one of its options. The first answer counts, whoever gave it.
func (s *server) answer(r *http.Request) (reply, *Problem) {
	raw, p := s.body(r)
	if p != nil {
		return reply{}, p
	}
	var b answerBody
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return reply{}, NewProblem(CodeMalformed, err.Error(), `{"option":"…"}`)
	}
	if b.Option == "" {
		return reply{}, NewProblem(CodeBadValue, "an answer is one of the options", `{"option":"…"}`)
	}
	body, err := json.Marshal(wire.Answer{QuestionID: r.PathValue("id"), Option: b.Option, By: guestOf(r.Context()).Peer.String()})
	if err != nil {
		return reply{}, NewProblem(CodeInternal, err.Error(), "")
	}
	return s.command(r, "answer", wire.TypeAnswer, body, false)
}

// modeBody is what a change of the mode is told.
type modeBody struct {
	Mode   string `json:"mode"`
	Reason string `json:"reason"`
}

// mode sets the mode: manual and service cancel what is open and refuse plans, automatic takes them again.
func (s *server) mode(r *http.Request) (reply, *Problem) {
	raw, p := s.body(r)
	if p != nil {
		return reply{}, p
	}
	var b modeBody
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return reply{}, NewProblem(CodeMalformed, err.Error(), `{"mode":"manual","reason":"…"}`)
	}
	if m := core.Mode(b.Mode); m != core.ModeAutomatic && m != core.ModeManual && m != core.ModeService {
		return reply{}, NewProblem(CodeBadValue, "mode is automatic, manual or service", "")
	}
	if b.Reason == "" {
		return reply{}, NewProblem(CodeBadValue, "a change of the mode says why", "--reason TEXT")
	}
	return s.control(r, wire.Control{Verb: "set_mode", Scope: "all", Target: b.Mode, Reason: b.Reason})
}

// tierOff is told instead of a tier where experiences are not evaluated.
const tierOff = "off"

// tierBody is what a change of the tier is told.
type tierBody struct {
	Tier   string `json:"tier"`
	Reason string `json:"reason"`
}

// tier sets the highest tier of plans with an experience, up to the setting, and lets them be evaluated; off ends that.
func (s *server) tier(r *http.Request) (reply, *Problem) {
	raw, p := s.body(r)
	if p != nil {
		return reply{}, p
	}
	var b tierBody
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return reply{}, NewProblem(CodeMalformed, err.Error(), `{"tier":"restricted","reason":"…"}`)
	}
	switch {
	case b.Tier != tierOff && !core.KnownTier(core.Tier(b.Tier)):
		return reply{}, NewProblem(CodeBadValue, "tier is shadow, content_only, restricted, full or off", "")
	case b.Reason == "":
		return reply{}, NewProblem(CodeBadValue, "a change of the tier says why", "--reason TEXT")
	case b.Tier == tierOff:
		return s.control(r, wire.Control{Verb: "disable_experience", Scope: "all", Reason: b.Reason})
	}
	return s.control(r, wire.Control{Verb: "set_tier", Scope: "all", Target: b.Tier, Reason: b.Reason})
}

func (s *server) control(r *http.Request, c wire.Control) (reply, *Problem) {
	c.RequestedBy = guestOf(r.Context()).Peer.String()
	raw, err := json.Marshal(c)
	if err != nil {
		return reply{}, NewProblem(CodeInternal, err.Error(), "")
	}
	return s.command(r, c.Verb+" "+c.Scope, wire.TypeControl, raw, false)
}

func (s *server) wishBody(r *http.Request, verb string) (b wishBody, p *Problem) {
	raw, p := s.body(r)
	if p != nil {
		return b, p
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return b, NewProblem(CodeMalformed, err.Error(), `{"reason":"…"}`)
	}
	if _, err := dec.Token(); err != io.EOF { // what follows may have been meant to narrow it
		return b, NewProblem(CodeMalformed, "more follows the object", `{"reason":"…"}`)
	}
	if b.Reason == "" {
		p = NewProblem(CodeBadValue, "a "+verb+" says why", "--reason TEXT")
		p.Errors = []core.Fault{{Path: "reason", Reason: core.Reason(wire.ReasonMissingField), Message: "it has to be there"}}
	}
	return b, p
}

// body reads what was posted, up to its bound and for a bounded time.
func (s *server) body(r *http.Request) ([]byte, *Problem) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		return nil, NewProblem(CodeTooLarge, "at most "+strconv.Itoa(maxBody)+" bytes", "")
	}
	if err != nil {
		return nil, NewProblem(CodeMalformed, "the body ended early: "+err.Error(), "")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, NewProblem(CodeMalformed, "the body is empty", "")
	}
	return body, nil
}

// command hands a message to the agent and tells its answer. Every one of them is logged with who sent it.
func (s *server) command(r *http.Request, what string, t wire.Type, body []byte, dry bool) (reply, *Problem) {
	id, message, err := local.Wrap(t, s.agent.Status().DeviceID, s.wall(), body)
	if err != nil {
		return reply{}, NewProblem(CodeInternal, err.Error(), "")
	}
	who := guestOf(r.Context()).Peer
	log := s.log.With().Str("command", what).Str("message_id", id).Uint32("uid", who.UID).Uint32("gid", who.GID).Int32("pid", who.PID).Bool("dry_run", dry).Logger()
	ans, p := s.receive(r.Context(), message, dry)
	if p != nil {
		log.Warn().Str("code", p.Code).Str("workflow_id", r.PathValue("id")).Msg("control call not answered")
		return reply{}, p
	}
	log.Info().Str("workflow_id", string(ans.Workflow)).Bool("accepted", ans.Accepted).Str("reason_code", string(ans.Reason)).Msg("control call")
	doc := Answer{Accepted: ans.Accepted, DryRun: dry, Message: id, Workflow: string(ans.Workflow), PlanID: string(ans.Plan), State: ans.State,
		Stopping: append([]string{}, ans.Stopping...), Holders: append([]string{}, ans.Holders...), Steps: append([]string{}, ans.Steps...), CatalogEtag: ans.CatalogEtag, Reason: string(ans.Reason)}
	if !ans.Accepted {
		return s.looked(r, func(view) (any, *Problem) { return nil, refused(ans, doc) })
	}
	return s.looked(r, func(v view) (any, *Problem) {
		if wf := v.s.Workflows[ans.Workflow]; wf != nil && doc.State == "" && !dry {
			doc.State = string(wf.State)
		}
		return doc, nil
	})
}

func (s *server) receive(ctx context.Context, message []byte, dry bool) (core.Answer, *Problem) {
	if dry {
		return s.agent.Check(message), nil
	}
	ans, err := local.HandIn(ctx, s.agent, message)
	switch {
	case err == nil:
		return ans, nil
	case errors.Is(err, taskmanager.ErrNotCommitted):
		return ans, NewProblem(CodeStorage, "", "deviceagentctl status")
	case errors.Is(err, taskmanager.ErrStopped):
		return ans, NewProblem(CodeStopping, "", "systemctl status deviceagent")
	case errors.Is(err, context.DeadlineExceeded):
		return ans, NewProblem(CodeNoAnswer, "", "deviceagentctl ps --all")
	}
	return ans, NewProblem(CodeInternal, err.Error(), "journalctl -u deviceagent -n 20")
}

// bodyDeadline bounds how long a body may take, for the requests that have one.
func bodyDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
