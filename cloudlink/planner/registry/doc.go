// Package registry holds the agents and skills that may own a turn, out of one data file: agents.json. A flow id that is not in it does
// not exist for any planner, and the rules and the models read the same list.
//
// It promises: a registry that was parsed names one owner for each family, and no id twice; every fault of a file is named, not the first
// alone. It must not decide who owns a turn. Contract: docs/planner.md, agents and skills.
package registry
