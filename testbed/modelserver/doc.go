// Package modelserver is a fake server of language models for tests and demos: it speaks both protocols that the planner can ask, has
// no model, and says so in every answer. It can be wrong in each way that real servers and models are wrong, one at a time.
//
// It promises to count what reaches it by itself, so that nobody has to believe the planner's own count, and to keep what it was
// asked. It must not be used for judging how well anything plans: an honest answer is the planner's own draft said back, or what a
// file of answers says.
package modelserver
