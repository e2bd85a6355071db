// Package sim plays random homes: random plans on a robot that refuses, hangs, lies, forgets and answers late, a planner and a broker
// that lose, repeat and reorder, people who cancel, hold and press buttons, under an agent that is killed at any moment on a disk
// that is full, slow or lies. What happened is held against the promises of docs/taskmanager.md by a judge that believes the robot's
// own log and the messages. Time is virtual, one home is one goroutine, and a seed always tells the same story; docs/tests.md says
// what is played, when an event counts as one under a fault, and what a full run has to show.
// It plays the Manager around the core, with the records of package taskmanager; the real Manager, store and links have tests of
// their own.
package sim
