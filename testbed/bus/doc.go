// Package bus gives tests a D-Bus of their own: a real dbus-daemon ([Daemon]), and a way to it for programs that live in virtual time
// ([Ferry]). Nobody else is on that bus, and it ends with its owner.
//
// Inside a bubble of testing/synctest nobody may wait for a real socket: time would stand still for ever. A ferry therefore carries each
// message to the daemon in the goroutine that writes it, and asks the daemon on every connection for its id before it comes back: a bus
// keeps the order of a connection, so when those answers are here, all that followed from the message is here too. No guess of how long
// a bus needs is in it, so a slow machine changes nothing. The package must not be part of a device.
package bus
