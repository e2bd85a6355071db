// Package cloudlink keeps the device's MQTT session: it dials, says hello, drains the outbox and hands messages over.
//
// It promises at-least-once, in order, for what the outbox holds: a row is published again until it has left the outbox, and only
// the planner's receipt takes it out. It promises that a message from the cloud is acknowledged to the broker only after
// [Receiver.Receive] returned, which is after the answer to it is durable. "Online" means that the planner answered this
// connection's hello; a broker's word (CONNACK, SUBACK, PUBACK) is never taken for the planner's.
//
// It decides nothing and keeps nothing over a restart: stopping it at any moment is the same as a power cut, so it never says
// goodbye; the broker sends the last will. It sees wire messages only and must not import taskmanager. Contract: docs/contract.md,
// section 1.
package cloudlink
