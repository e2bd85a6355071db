package core

import (
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// maxSamples bounds the equal readings kept of one value. Source: stability windows of up to 3 s with a look each 500 ms.
const maxSamples = 16

// sampleGapMS is how close together samples are kept: sixteen of them reach over 3.75 s.
const sampleGapMS = 250

func (w *work) known(key catalog.ContextKey) (Known, bool) {
	if k, ok := w.ch.known[key]; ok {
		return k, true
	}
	if w.ch.forget || w.ch.lost[key] {
		return Known{}, false
	}
	k, ok := w.cur.Known[key]
	return k, ok
}

// contextRead takes values of the device context and looks again at what waits for them.
func (w *work) contextRead(ev ContextRead) {
	var keys []catalog.ContextKey
	for _, v := range ev.Values {
		decl, ok := w.cat.Context[v.Key]
		if !ok {
			continue
		}
		w.learn(decl, ev.Source, v)
		keys = append(keys, v.Key)
	}
	if len(keys) == 0 {
		return
	}
	w.touched = true
	for _, r := range w.listening() {
		w.look(r)
	}
	w.readKept()
	w.guardsRead(keys)
	w.freed = w.freed || w.anyWants()
}

func (w *work) anyWants() bool {
	for _, id := range w.cur.order {
		if w.peek(id).hasWants() {
			return true
		}
	}
	return false
}

// learn adds one reading. An equal value lengthens the run of samples, another one begins a new run: that is what makes
// stability a matter of readings and not of hope.
func (w *work) learn(decl catalog.Key, source string, v ContextValue) {
	if v.Key == keyLocation && w.dev.Safety.Lifted {
		return // it is in somebody's hands
	}
	old, _ := w.known(v.Key)
	if decl.Source != "" && source != decl.Source && old.Available && old.Source == decl.Source {
		old.Rival = rival(source, v, w.now.Boot)
		w.setKnown(v.Key, old) // where two may speak, the declared authority is heard
		return
	}
	k := Known{Value: v.Value, Available: v.Available, Class: weaker(decl.Class, v.Class), Source: source, Rival: old.Rival}
	if old.Available && old.Source != source {
		k.Rival = &Rival{Source: old.Source, Value: old.Value, At: old.Samples[len(old.Samples)-1].At}
	}
	if v.Available {
		s := Sample{At: w.now.Boot, Seq: w.seq}
		if old.Available && old.Source == source && old.Class == k.Class && condition.Equal(old.Value, v.Value) {
			k.Samples = append(thinned(old.Samples), s)
		} else {
			k.Samples = []Sample{s}
		}
	}
	w.setKnown(v.Key, k)
}

func (w *work) setKnown(key catalog.ContextKey, k Known) {
	if w.ch.known == nil {
		w.ch.known = map[catalog.ContextKey]Known{}
	}
	w.ch.known[key] = k
}

// rival notes what a source says against the one that is heard; nil where it has nothing to say.
func rival(source string, v ContextValue, now Instant) *Rival {
	if !v.Available {
		return nil
	}
	return &Rival{Source: source, Value: v.Value, At: now}
}

// Disputed says whether another source than the one that is heard says something else of a key, and is no older than the value may be.
func (k Known) Disputed(maxAgeMS int64, now Instant) bool {
	r := k.Rival
	return k.Available && r != nil && r.Source != k.Source && now-r.At <= Instant(maxAgeMS) && !condition.Equal(r.Value, k.Value)
}

// conflict: two sources disagree, and the catalog does not say which of them is to be believed.
func (w *work) conflict(key catalog.ContextKey, k Known) bool {
	decl := w.cat.Context[key]
	return k.Disputed(decl.MaxAgeMS, w.now.Boot) && (decl.Source == "" || decl.Source != k.Source)
}

// thinned makes room for one more sample. However often a source speaks, what is kept reaches back over the longest stability:
// the newest sample goes where the one before it is closer than sampleGapMS.
func thinned(old []Sample) []Sample {
	if n := len(old); n >= 2 && old[n-1].At-old[n-2].At < sampleGapMS {
		old = old[:n-1]
	}
	return slices.Clone(old[max(0, len(old)-maxSamples+1):])
}

// look holds the present context against one attempt: its evidence, and whether it has come to rest.
func (w *work) look(r ref) {
	wf := w.peek(r.wf)
	a := &wf.Attempts[r.at]
	st := &wf.Steps[a.Step]
	if st.Task == a.Task && (st.State == Running || st.State == Verifying || st.State == OutcomeUnknown || st.State == Paused) && len(st.Effects) > 0 {
		w.settle(w.wf(r.wf), a.Step)
	}
	w.pauseLook(r)
	if a = &w.peek(r.wf).Attempts[r.at]; a.holds() {
		w.tryRest(r)
	}
}

// availability says whether a key may be used now, and gives its value.
func (w *work) availability(key catalog.ContextKey, maxAgeMS int64) (condition.Value, condition.Availability) {
	k, ok := w.known(key)
	switch {
	case !ok:
		return nil, condition.Missing
	case !k.Available:
		return nil, condition.Unavailable
	}
	limit := Instant(maxAgeMS)
	if limit == 0 {
		limit = Instant(w.cat.Context[key].MaxAgeMS)
	}
	if w.now.Boot-k.Samples[len(k.Samples)-1].At > limit {
		return k.Value, condition.Stale
	}
	if w.conflict(key, k) {
		return k.Value, condition.Conflict
	}
	return k.Value, condition.Fresh
}

// check evaluates a typed condition for a step.
func (w *work) check(wf *Workflow, c *condition.Condition) condition.Answer {
	if c == nil {
		return condition.Answer{Truth: condition.True}
	}
	return condition.Eval(*c, func(ref string, maxAgeMS int64) (condition.Value, condition.Availability) {
		if key, ok := strings.CutPrefix(ref, "ctx."); ok {
			return w.availability(catalog.ContextKey(key), maxAgeMS)
		}
		return wf.output(ref)
	})
}

// output resolves "key" or "key.path" in the outputs of earlier steps.
func (wf *Workflow) output(ref string) (condition.Value, condition.Availability) {
	key, path, _ := strings.Cut(ref, ".")
	for i := range wf.Plan.Steps {
		if string(wf.Plan.Steps[i].Output) != key || !wf.Steps[i].State.Terminal() || wf.Steps[i].Output == nil {
			continue
		}
		var v condition.Value = wf.Steps[i].Output
		for path != "" {
			var name string
			name, path, _ = strings.Cut(path, ".")
			m, ok := v.(map[string]any)
			if !ok {
				return nil, condition.Missing
			}
			if v, ok = m[name]; !ok {
				return nil, condition.Missing
			}
		}
		return v, condition.Fresh
	}
	return nil, condition.Missing
}

// reasonOf names why a condition could not be decided.
func reasonOf(ans condition.Answer) (Reason, string) {
	if len(ans.Unknown) == 0 {
		return ReasonContextMissing, ""
	}
	u := ans.Unknown[0]
	switch u.Availability {
	case condition.Stale:
		return ReasonContextStale, u.Ref
	case condition.Conflict:
		return ReasonContextConflict, u.Ref
	}
	return ReasonContextMissing, u.Ref
}
