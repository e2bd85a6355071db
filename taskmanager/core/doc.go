// Package core decides what a robot does next. It is a pure function of the state, the moment and what happened ([Reduce]) to a
// [Change]: new records, messages for the cloud, outputs to carry out. It reads no clock, no random source, no file and no
// network; ids and times arrive in its arguments, so the same input gives the same change on any machine, in production, in a
// simulation and in a replay.
//
// Four ideas hold it together: a goal is not a command, a plan is not the goal, a callback is not proof, and nothing is completed
// without evidence. It must not import anything but a few pure packages of the standard library and its own children.
// Contract: docs/taskmanager.md.
package core
