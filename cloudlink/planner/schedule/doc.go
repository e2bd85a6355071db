// Package schedule is what the planner does with words about set times: it reads when something is to be done, asks for what is missing
// over several turns, and says which of the kept schedules are meant. It is pure: the present moment, what is kept, and what was left
// open come with the turn; what a decision asks for is done by the endpoint, and kept by the device.
//
// It promises: a question never makes a schedule, nor does a cancel, nor a fragment to which nothing was left open; a time that can be
// meant in two ways is asked about, or read by a rule that docs/planner.md states, and said back with its half of the day. It must not say that
// something is scheduled: only the device's answer makes it so. Contract: docs/planner.md, schedules.
package schedule
