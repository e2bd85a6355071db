// Package sim plays random homes: random plans on a robot that refuses, hangs, lies, forgets and answers late, under an agent that
// is killed at any moment, and holds what happened against the promises of docs/taskmanager.md. The judge believes the robot's own
// log and the messages. Time is virtual, one home is one goroutine, and a seed always gives the same story.
// It plays the Manager around the core, with the records of package taskmanager; the real Manager, store and links have tests of
// their own.
package sim
