// Package gonogo judges whether a provider (a capability of the catalog, or a skill) may be promoted: six lines that have to be shown,
// and six that must not be found, from what devices have stored, what robots have logged, and what the planner was measured at.
//
// It promises: each line has its numbers, their ids and where they come from; a number without a denominator shows nothing, and what is
// not shown is no Go. It must not run, promote or change anything. The lines and their limits: docs/gonogo.md.
package gonogo
