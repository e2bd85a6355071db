// Package scenario runs acceptance scenarios: text files that say what is said to a planner or done to a robot, and everything that
// must follow from it. One scenario is one bubble of testing/synctest: the real planner, broker, agent, store and simulated robot in
// one process, over connections in memory, in virtual time.
//
// What follows is a closed world: each thing that the witnesses saw and the file does not list is a failure, as is each thing that
// is listed and was not seen. The witnesses are the robot's own log and an outside MQTT subscriber; the agent is asked only about
// work that is still open, and what it says must agree with what it reported. The package must not be part of a device.
// Format: docs/scenarios.md.
package scenario
