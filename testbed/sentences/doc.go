// Package sentences composes Korean commands for the planner out of the catalog, says by itself which plan each of them asks for, and
// counts how many the planner gets exactly right. Rooms, operations and limits are the catalog's; the words around them are its own.
//
// It promises: the same seed gives the same sentences; what is expected follows from the parts that a sentence was put together from, never
// from reading it. What is expected must not come from the rules of the planner (rules.go alone knows them, to judge them): a fault of
// theirs would be expected as well. Meaning: docs/planner.md, what
// the words mean.
package sentences
