// Package running answers what is said about work that is under way: a correction, a question, a part that is to stop, a pause, an answer
// to what the robot has asked; and it changes a plan of which a step has failed. All of it is a pure function of the words and of what the
// device has said, and no model is asked.
//
// It promises: a plan that is changed stays the same plan, with what is done in it and every other step untouched, under the next revision;
// a question changes nothing; nothing is called done that no message of the device has proved, and what is not known is said to be not
// known. Words that fit no work that is under way are left to the main planner. It must not send, store or know a clock.
// Contract: docs/planner.md, what is under way; escalations.
package running
