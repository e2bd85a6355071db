// Package conform is the conformance kit: what a firmware team runs against its own service of org.deviceagent.Executor1 on a real bus.
// It is an outside caller with a connection of its own, and takes nothing but the interface's XML from the agent's executor. It judges
// only by what it sent, by what came back, and by what the service says of the home when it is asked. It promises that a check counts
// as passed only where it was tried and seen to hold; what could not be tried is named with what it needs. It starts no agent and must
// not mend anything. Contract: docs/dbus-executor.md; each check: docs/conformance.md.
package conform
