// Package netfault is a bad network and a lying broker: a TCP proxy on a free loopback port between MQTT clients and a real broker.
// Faults strike from when they are told to, a number of times or until they are taken back, and are counted when they struck, not when
// they were asked for.
//
//	p, err := netfault.Start("127.0.0.1:1883", netfault.Options{})
//	p.Strike(netfault.Cut, 1)       // now: every connection gets a reset
//	p.Strike(netfault.DropUp, 3)    // the next three messages up are acknowledged and not passed on
//	p.Strike(netfault.Delay, netfault.Always); p.End(netfault.Delay)
//	p.Counts()[netfault.DropUp]
//
// Faults below MQTT work on any stream, also within TLS (Options.Raw); those of MQTT need to read the packets. It is for tests and the
// campaign of testbed/linkfault, and must not be part of a device.
package netfault
