// Package wirecost measures what one plan costs on the link: messages and bytes, up and down, by an MQTT subscriber beside agent and
// planner. Both are the real ones, in virtual time, with a robot that tells its progress as it always does.
// It promises the same numbers on every machine, since ids have one length and times are virtual; docs/link-cost.md holds them, and a
// test holds the page to them. It fails where a plan that runs normally costs more than two messages up. It only looks: nothing of it
// is linked into a program of the product.
package wirecost
