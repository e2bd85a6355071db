// Package schedule says when a plan that repeats is due: by days of the week or on one date, at a time of day in a zone. It is pure:
// the zone and the present moment are given, and each answer takes a bounded number of steps, whatever is asked.
//
// A time of day that a zone skips (summer time begins) stands for the first moment after the gap, one that it has twice for the first
// of the two. It must not know the core; the Manager asks it and tells the core what is due. Contract: docs/taskmanager.md, schedules.
package schedule
