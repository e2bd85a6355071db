// Package timeko reads Korean numbers, times of day, dates, durations, repetitions and moments, as people say and as speech
// recognition writes them, into normal forms that can be compared.
//
// It promises the same value for the same words and reference on any machine; it reads no clock and no zone: what "tomorrow" is follows
// from the reference alone. It must not guess a value for words that it does not know. Contract: docs/planner.md, Time values.
package timeko
