// Package people decides about what is kept of the people of a home: preferences, and what may be offered to them without being asked. It
// is pure: the hour, what is kept and which question is open come with the turn; keeping and erasing is the endpoint's.
//
// It promises: nothing is kept before a yes that was said; an offer is made only inside hours that were approved so, never of what was
// refused for good, and not twice within an hour; all of it can be told and erased by its owner, by voice and over HTTP. It must not change the
// owner of a turn, and an offer moves nothing: a yes stands for the order that was offered. Contract: docs/planner.md, offers and preferences.
package people
