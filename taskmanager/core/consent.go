package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// Consent is one record of what a person has agreed to. The newest record of a key that reaches a plan decides; silence is never consent.
// Source: docs/experience.md, consent.
type Consent struct {
	Key      string       `json:"key"`
	Scope    string       `json:"scope"` // an experience_id, or "device"
	State    ConsentState `json:"state"`
	By       string       `json:"by"`
	At       Instant      `json:"at"`
	Expires  Instant      `json:"expires,omitempty"` // of a granted one
	Question AskID        `json:"question,omitempty"`
}

// ConsentState says what became of asking for a consent.
type ConsentState string

// The states.
const (
	ConsentAsked   ConsentState = "asked"
	ConsentGranted ConsentState = "granted"
	ConsentDenied  ConsentState = "denied"
	ConsentRevoked ConsentState = "revoked"
	ConsentExpired ConsentState = "expired" // nobody answered, its time is over, or it was not asked for any more
)

const (
	deviceScope = "device"
	consentYes  = "yes"
	consentNo   = "no"

	consentMS   = 24 * 3600 * 1000 // what was agreed to yesterday is asked anew. Source: docs/experience.md, consent
	maxConsents = 128              // the oldest goes first; one that is gone is asked for again
)

// setConsent writes a record in place of the one of the same key and scope. Its moment is now.
func (w *work) setConsent(c Consent) {
	c.At = w.now.Boot
	if c.State == ConsentGranted {
		c.Expires = w.now.Boot + consentMS
	}
	next := slices.DeleteFunc(slices.Clone(w.dev.Consents), func(o Consent) bool { return o.Key == c.Key && o.Scope == c.Scope })
	next = append(next, c)
	w.dev.Consents = next[max(0, len(next)-maxConsents):]
	w.touched, w.ch.Must = true, true
}

// consentOf is the consent that a step needs before it is dispatched; "": none. A stop operation needs it only where it would end what
// somebody else runs: to end one's own work needs nobody's word.
func (w *work) consentOf(wf *Workflow, i int) string {
	spec := &wf.Plan.Steps[i]
	switch {
	case spec.Op.Consent == "" || !wf.supervised():
		return ""
	case len(spec.Stops) > 0 && !w.othersRun(wf, spec.Stops):
		return ""
	}
	return spec.Op.Consent
}

// othersRun says whether something else than the workflow uses one of the resources.
func (w *work) othersRun(wf *Workflow, resources []catalog.ResourceID) bool {
	return w.inUse(resources) || slices.ContainsFunc(w.listening(), func(r ref) bool {
		a := &w.peek(r.wf).Attempts[r.at]
		return r.wf != wf.Plan.Workflow && a.holds() && slices.ContainsFunc(a.Resources, func(x catalog.ResourceID) bool { return slices.Contains(resources, x) })
	})
}

// consentFor is what the newest record of a key says that reaches the plan: that of its experience, or of the device. A refusal of the
// device from before the plan came does not count: a person may be asked again.
func (w *work) consentFor(wf *Workflow, key string) ConsentState {
	for _, c := range slices.Backward(w.dev.Consents) {
		own := c.Scope == wf.Plan.Goal.Experience
		switch {
		case c.Key != key || !own && c.Scope != deviceScope:
		case c.State == ConsentGranted && w.now.Boot < c.Expires:
			return ConsentGranted
		case c.State == ConsentDenied || c.State == ConsentRevoked:
			if own || c.At >= wf.Accepted {
				return ConsentDenied
			}
		case c.State == ConsentExpired && !own:
			return "" // an older grant of the experience does not outlive it
		}
	}
	return ""
}

// consented says whether a step may be dispatched as far as a person's word is needed, in the very step of the core that decides to
// dispatch. Otherwise the user is asked, or the step ends: who has said no is not asked twice.
func (w *work) consented(wf *Workflow, i int) bool {
	key := w.consentOf(wf, i)
	if key == "" {
		return true
	}
	switch w.consentFor(wf, key) {
	case ConsentGranted:
		return true
	case ConsentDenied:
		w.fail(wf, i, Failed, ReasonConsentDenied)
	default:
		w.askConsent(wf, i, key)
	}
	return false
}

func (w *work) askConsent(wf *Workflow, i int, key string) {
	if wf.Steps[i].State != Blocked {
		w.move(wf, i, Blocked, ReasonConsentRequired)
	}
	w.note(wf, i, ReasonConsentRequired, key)
	if k := slices.IndexFunc(wf.Asks, func(a Ask) bool { return a.State == AskOpen && a.Consent == key }); k >= 0 {
		w.awaitUser(wf, i, Failed, &wf.Asks[k]) // two steps, one question
		return
	}
	w.supervise(&gateQuery{wf: wf, i: i, on: ObsNeedsUser, reason: ReasonConsentRequired, open: true})
	text := w.words(wf, "consent_"+key, w.words(wf, "consent", "{step}: do you agree?"))
	w.askUser(wf, i, Failed, Ask{Kind: AskConsent, Consent: key, Text: w.fill(wf, i, text), Options: w.yesOrNo(wf)}, askMS)
	w.setConsent(Consent{Key: key, Scope: wf.Plan.Goal.Experience, State: ConsentAsked, By: "device", Question: wf.Steps[i].Fate.Ask})
}

func (w *work) yesOrNo(wf *Workflow) []AskOption {
	return []AskOption{{ID: consentYes, Text: w.words(wf, "option_yes", consentYes)}, {ID: consentNo, Text: w.words(wf, "option_no", consentNo)}}
}

// consentSaid takes the answer to a question for a consent. The steps that waited are looked at anew: a yes lets them go on, a no ends them.
func (w *work) consentSaid(wf *Workflow, a *Ask, yes bool) {
	state := ConsentDenied
	if yes {
		state = ConsentGranted
	}
	w.setConsent(Consent{Key: a.Consent, Scope: wf.Plan.Goal.Experience, State: state, By: a.By, Question: a.ID})
	w.settleConsent(wf, a.Consent)
}

// settleConsent moves on the steps that are blocked for a consent which is not asked for any more.
func (w *work) settleConsent(wf *Workflow, key string) {
	for i := range wf.Steps {
		st := &wf.Steps[i]
		if st.State != Blocked || st.Reason != ReasonConsentRequired || st.Detail != key || st.toUser() {
			continue
		}
		if w.consentFor(wf, key) == ConsentDenied {
			w.fail(wf, i, Failed, ReasonConsentDenied)
		} else {
			w.move(wf, i, Queued, ReasonNone)
		}
	}
	w.freed = true
}

// consentEvents are what the robot itself may tell of a consent, and the state that it brings.
var consentEvents = map[catalog.EventName]ConsentState{
	"consent.granted": ConsentGranted, "consent.denied": ConsentDenied, "consent.revoked": ConsentRevoked, "consent.expired": ConsentExpired,
}

// consentEvent takes what a person has said at the robot about a consent, asked or not: it is of the whole device. Who takes one back stops
// what runs by it at once.
func (w *work) consentEvent(ev Observed) {
	state, known := consentEvents[ev.Event]
	key, _ := ev.Data["consent"].(string)
	if !known || key == "" || len(key) > MaxConsentKey || ev.Class == catalog.Echo {
		return
	}
	w.setConsent(Consent{Key: key, Scope: deviceScope, State: state, By: "user"})
	for _, id := range w.everyone() {
		if wf := w.peek(id); wf.Plan.Goal != nil && !wf.State.Terminal() {
			w.consentTold(w.wf(id), key, state)
		}
	}
}

// MaxConsentKey bounds the name of a consent. Bytes. Source: docs/contract.md, experience.
const MaxConsentKey = 64

func (w *work) consentTold(wf *Workflow, key string, state ConsentState) {
	for _, a := range slices.Clone(wf.Asks) {
		switch {
		case a.State != AskOpen || a.Consent != key:
		case state == ConsentGranted:
			w.answerAsk(wf, a.ID, consentYes, "user", "", true)
		case state != ConsentExpired:
			w.answerAsk(wf, a.ID, consentNo, "user", "", true)
		}
	}
	if state != ConsentRevoked && state != ConsentDenied {
		return
	}
	for i := range wf.Steps {
		if wf.Plan.Steps[i].Op.Consent == key && wf.Steps[i].State.active() && wf.supervised() && len(wf.Plan.Steps[i].Stops) == 0 {
			w.cancelStep(wf, i, ReasonConsentDenied)
		}
	}
}

// endConsents: what was agreed to for an experience ends with it.
func (w *work) endConsents(wf *Workflow) {
	if wf.Plan.Goal == nil {
		return
	}
	for _, c := range w.dev.Consents {
		if c.Scope == wf.Plan.Goal.Experience && c.State == ConsentGranted {
			c.State, c.By = ConsentExpired, "end"
			w.setConsent(c)
		}
	}
}

// rebasedConsents moves the records into the present boot. Where nobody can tell how long the device was off, no consent has outlasted it.
func rebasedConsents(list []Consent, by Instant, blind bool) []Consent {
	out := slices.Clone(list)
	for i := range out {
		rebased(by, &out[i].At, &out[i].Expires)
		if blind && out[i].State == ConsentGranted {
			out[i].State, out[i].By = ConsentExpired, "unknown time off"
		}
	}
	return out
}
