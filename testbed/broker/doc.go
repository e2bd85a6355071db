// Package broker is an MQTT broker in memory, with faults, for tests and scenarios. It wraps a well-kept broker library and puts
// a relay in front of each connection, so that a test can stall, lose or cut what one client says or hears.
//
// It works inside a testing/synctest bubble: every goroutine is started by New, Dial or Subscribe and has ended when Close
// returned, no socket is opened unless Listen is called, and nobody waits on a mutex while another writes to a connection (the
// relay always takes what the broker writes). It promises no durability and must not be used in production.
package broker
