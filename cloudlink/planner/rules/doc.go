// Package rules is the planner that needs no model: it parses an utterance (Korean, English) against the catalog and says which
// operations it asks for, in which order, after which delay and under which condition.
//
// It promises: the same words give the same decision on any machine, offline, with no model call; every device step cites the
// words that ask for it; a question yields a read-only step at most; a negated wish yields none; and no step at all is planned
// from a sentence of which one content word is not accounted for: it belongs to a step, or to a clause that is refused by name. What it
// cannot parse is asked about or left to conversation.
//
// It must not name an operation that the catalog does not have, guess a side effect, or say that something is done.
// Contract: docs/planner.md.
package rules
