// Package secondpass holds one narrow question after the first decision: between two of DEF, FRG and STT_NULL, and no others. It says when
// the question is asked, which one it is, and, where no model answers it, what the evidence answers.
//
// It promises: pure functions; the answer is one of the two families; nothing is planned again, and a decision with a step of the device,
// with several steps, a control or a question of its own is never touched. Contract: docs/planner.md, second pass.
package secondpass
