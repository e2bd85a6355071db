// Package model lets a language model take part in planning: it asks one over HTTP, and turns what it says into a checked decision.
//
// It promises: with any answer, or none, a turn ends within its deadline as a decision that names registered ids only, passes the
// compiler and the device's own check, and speaks no raw text of the model; at most one main question, one repair of it and one
// second pass are asked a turn. What a model says is data: it proves nothing, and a decision that the rules have anchored in the
// registry stands unless the model names contrary evidence that is found in the words. It must not plan, compile or keep anything
// by itself. Contract: docs/planner.md, models.
package model
