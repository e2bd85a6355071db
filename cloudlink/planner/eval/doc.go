// Package eval measures a planner on labelled utterances: route families, the structure of composite commands, time values, and dialogs
// over tools. It promises figures with numerator, denominator and the ids of the rows that went otherwise, so that a figure can be
// argued with; a figure over nothing is null, never 0 or 1.
//
// It must not change what a planner decides, and reads no other file than the one it is given. Contract: docs/planner.md, Measured.
package eval
