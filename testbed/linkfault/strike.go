package linkfault

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"deviceagent/cloudlink"
	"deviceagent/testbed/netfault"
)

// What is struck at beside the faults of a proxy.
const (
	brokerKilled  netfault.Fault = "broker_killed"  // kill -9, with what it had written
	brokerForgets netfault.Fault = "broker_forgets" // the same, and all its sessions are gone
	plannerKilled netfault.Fault = "planner_killed" // kill -9; it comes back over its store
	agentKilled   netfault.Fault = "agent_killed"   // the same
)

// quota says how often each fault has still to strike.
type quota struct {
	mu   sync.Mutex
	need map[netfault.Fault]int
}

// draw picks one that is still needed, of those that may be; false: none is.
func (q *quota) draw(rnd *rand.Rand, may func(netfault.Fault) bool) (netfault.Fault, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var left []netfault.Fault
	for _, f := range slices.Sorted(maps.Keys(q.need)) {
		if q.need[f] > 0 && may(f) {
			left = append(left, f)
		}
	}
	if len(left) == 0 {
		return "", false
	}
	f := left[rnd.IntN(len(left))]
	q.need[f]--
	return f, true
}

func (q *quota) back(f netfault.Fault) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.need[f]++
}

func (q *quota) left() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.need {
		n += max(0, m)
	}
	return n
}

// needsConnect are faults that wait for a new connection, so the present one is cut.
var needsConnect = map[netfault.Fault]bool{netfault.Refuse: true, netfault.Mute: true, netfault.Kick: true, netfault.LoseSession: true, netfault.BadSuback: true}

// times is how many packets in a row a fault lasts.
var times = map[netfault.Fault]int{netfault.Delay: 3, netfault.Throttle: 3, netfault.Split: 5}

// measures are what is timed.
type measures struct {
	mu      sync.Mutex
	back    []time.Duration // from a strike to online, where the line was lost
	noticed []time.Duration // from a half-open line to its being noticed
}

func (m *measures) add(list *[]time.Duration, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*list = append(*list, d)
}

// strikeRobot lets faults strike at one robot until none is needed.
func (c *campaign) strikeRobot(r *robotOf, rnd *rand.Rand) {
	for !c.over() {
		f, ok := c.quota.draw(rnd, r.canHave)
		if !ok {
			return
		}
		if !c.once(r, f) {
			c.quota.back(f)
		}
		pause(rnd.IntN(40), c.stopped)
	}
}

// canHave says which faults can be had at a robot. A bit that is flipped in a plain stream can turn a message into another good one: nothing but TLS
// finds that out, so it is done there.
func (r *robotOf) canHave(f netfault.Fault) bool {
	switch f {
	case brokerKilled, brokerForgets, plannerKilled:
		return false
	case agentKilled:
		return true
	case netfault.GarbleUp, netfault.GarbleDn:
		return r.tls
	}
	return !r.tls || f.Raw()
}

// once strikes, waits until it has, and until the robot is online again. False: it has not struck.
func (c *campaign) once(r *robotOf, f netfault.Fault) bool {
	if f == agentKilled {
		began := time.Now()
		if err := r.kill(); err != nil {
			c.fail(err)
			return true
		}
		c.count(f)
		c.backOnline(r, began)
		return true
	}
	if _, up := c.await(r, online); !up {
		c.stuck(r)
		return false
	}
	before, began := r.line.Counts()[f], time.Now()
	r.line.Strike(f, max(1, times[f]))
	if needsConnect[f] {
		r.line.Strike(netfault.Cut, 1)
	}
	struck := false
	for time.Since(began) < 4*time.Second && !struck {
		struck = r.line.Counts()[f] > before
		if !struck {
			time.Sleep(2 * time.Millisecond)
		}
	}
	if !struck {
		r.line.End(f)
		return false
	}
	if f == netfault.HalfOpen {
		if d, seen := c.await(r, notOnline); seen {
			c.times.add(&c.times.noticed, d)
		}
	}
	c.backOnline(r, began)
	r.line.End(f)
	return true
}

// await waits until a link is as wanted, for as long as the campaign goes on and has patience.
func (c *campaign) await(r *robotOf, ok func(cloudlink.State) bool) (took time.Duration, is bool) {
	took, _ = r.await(c.patience, func(s cloudlink.State) bool {
		is = ok(s)
		return is || c.over()
	})
	return took, is
}

// backOnline waits for the link and notes how long it took, where it was lost.
func (c *campaign) backOnline(r *robotOf, began time.Time) {
	if _, lost := r.await(30*time.Millisecond, notOnline); !lost {
		return
	}
	if _, up := c.await(r, online); !up {
		c.stuck(r)
		return
	}
	c.times.add(&c.times.back, time.Since(began))
}

// strikeCell lets faults strike at broker and planner of a cell until none is needed.
func (c *campaign) strikeCell(cl *cell, rnd *rand.Rand) {
	for !c.over() {
		f, ok := c.quota.draw(rnd, func(f netfault.Fault) bool { return f == brokerKilled || f == brokerForgets || f == plannerKilled })
		if !ok {
			return
		}
		var err error
		switch f {
		case plannerKilled:
			err = cl.killPlanner()
		default:
			err = cl.restartBroker(f == brokerForgets)
		}
		if err != nil {
			c.fail(err)
			return
		}
		c.count(f)
		for _, r := range cl.robots { // so that each has a moment of peace
			c.await(r, online)
		}
		c.lie(cl, rnd)
		pause(200+rnd.IntN(300), c.stopped)
	}
}

// lie lets something strike at the planner's own line.
func (c *campaign) lie(cl *cell, rnd *rand.Rand) {
	for _, f := range []netfault.Fault{netfault.DropUp, netfault.DropDown, netfault.DoubleDown, netfault.DoubleUp, netfault.Reorder, netfault.NoPuback, netfault.Cut, netfault.CutShort} {
		if rnd.IntN(6) == 0 {
			cl.line.Strike(f, 1)
		}
	}
}
