// Package demo shows the whole on one machine: it starts the planner with its broker, the agent and a simulated robot as processes
// of their own, says one sentence to the planner, tells what happens in plain lines, and counts from outside. It promises that
// nothing it started outlives it, that the last line it prints as data is one JSON object, and that it claims success only for a
// workflow that the agent closed as completed with all its effects observed. It uses the doors that everybody has (HTTP, MQTT, the
// log files, standard input of the simulated robot) and must not reach into a process. One goroutine owns the demo; all others hand
// what they saw over to it.
package demo

import (
	"io"
	"time"
)

// Options set a demo up. The zero value of each has a meaning.
type Options struct {
	Say   string        // what is said to the planner; empty: [DefaultSay]
	Crash bool          // kill the agent in the middle of the work and start it again
	Keep  bool          // leave everything running afterwards, until the context ends
	Speed float64       // simulated seconds a real second, of the home only; 0: chosen
	Bin   string        // folder of the programs; empty: that of this program
	Limit time.Duration // for the workflow to end, in real time; 0: 5 minutes
	Talk  io.Writer     // what happens, for people
	Data  io.Writer     // gets one line: the JSON of a [Summary]
}

// DefaultSay goes to the living room, cleans the air there, and goes to the bedroom.
const DefaultSay = "거실로 가서 청정하고 안방으로 가"

// Speeds of the home. An hour of cleaning takes 6 s; a crash during a movement needs one that lasts longer than a blink.
const (
	fastSpeed = 600
	slowSpeed = 5
)

const (
	deviceID     = "demo-robot"
	defaultLimit = 5 * time.Minute
	startLimit   = 20 * time.Second // of one part; a slow machine needs a second
	pollEvery    = 100 * time.Millisecond
	lookEvery    = 5 * time.Millisecond   // at the robot's log; a movement at full speed lasts some 10 ms
	crashAfter   = 300 * time.Millisecond // into the movement or the cleaning
	darkTime     = time.Second            // between the kill and the new start
	holdStill    = 3 * time.Second        // the person's patience in a vital session
	witnessLimit = 3 * time.Second        // for the outside subscriber to see what the planner has seen
)

func (o *Options) defaults() {
	if o.Say == "" {
		o.Say = DefaultSay
	}
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	if o.Talk == nil {
		o.Talk = io.Discard
	}
	if o.Data == nil {
		o.Data = io.Discard
	}
}
