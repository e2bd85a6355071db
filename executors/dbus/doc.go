// Package dbus reaches services on a D-Bus: those that implement org.deviceagent.Executor1 (executor1.xml, docs/dbus-executor.md), and
// those whose own interface the catalog maps. It promises that a service counts as there only while it owns its name, that calls go to
// that very owner and signals count only from it, and that whatever was lost of a connection or a signal is treated as a restart: tasks
// are asked for, nothing is assumed. It keeps the order of signals. Of a mapped service it remembers what that one does not: ids and
// ends of tasks, as long as the agent runs. It decides nothing.
package dbus
