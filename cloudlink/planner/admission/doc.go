// Package admission judges whether words ask for more than orders: whether there is a goal to be kept over steps, waits and sessions.
// It judges a decision that is made, from its steps and from the words, by axes of meaning that each cite the words they stand on.
//
// It promises: the same words and decision give the same judgement on any machine, with no model call; it changes nothing of the
// decision, and what it says dispatches nothing; a goal has effects that the catalog knows and a step of the decision brings about, and
// no other; it never raises a tier. Length admits nothing, nor does a request for help.
//
// It must not plan, fill a gap of a plan, or send anything. Contract: docs/admission.md.
package admission
