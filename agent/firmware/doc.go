// Package firmware is the agent as the robot's own programs see it: org.deviceagent.Agent1 on a D-Bus, and the lock that keeps the machine
// awake while the body moves.
//
// It promises that the owner of the state waits for nobody on a bus; that a bus which is absent, slow or lost changes nothing but that
// nobody hears of the agent there, until it is back; that each caller is asked of the bus for every call, and may do no more than the
// groups of the settings let it, whatever the bus's policy says; and that an event counts only from a program that was named as its
// source. It must not decide anything: wishes go in by the door that all others use, and the state is only looked at.
// Contract: docs/agent-dbus.md; the interface is packaging/dbus/org.deviceagent.Agent1.xml.
package firmware
