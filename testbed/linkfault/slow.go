package linkfault

import (
	"fmt"
	"os"
	"sync"
	"time"

	"deviceagent/agent/config"
	"deviceagent/cloudlink"
	"deviceagent/testbed/netfault"
)

// asShipped strikes with what takes its time at the time-outs that a robot has: half-open lines, and brokers that never answer. Each robot
// has both once.
func (c *campaign) asShipped(dir string) (halfOpen, mute []time.Duration, err error) {
	if c.opt.Slow == 0 {
		return nil, nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	cl, err := newCell(dir, 1)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = cl.close() }()
	for i := range c.opt.Slow {
		if _, err := cl.newRobot(fmt.Sprintf("slow-%d", i), time.Duration(config.Default().Broker.Keepalive), i%2 == 0); err != nil {
			return nil, nil, err
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i, r := range cl.robots {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * 2 * time.Second) // at another moment between two pings each
			noticed, up := c.oneSlow(r, netfault.HalfOpen, notOnline)
			given, up2 := c.oneSlow(r, netfault.Mute, func(s cloudlink.State) bool { return s.Phase == cloudlink.Offline })
			mu.Lock()
			defer mu.Unlock()
			if up {
				halfOpen = append(halfOpen, noticed)
			}
			if up2 {
				mute = append(mute, given)
			}
		})
	}
	wg.Wait()
	return halfOpen, mute, nil
}

// oneSlow strikes once and waits until the link says so.
func (c *campaign) oneSlow(r *robotOf, f netfault.Fault, seen func(cloudlink.State) bool) (time.Duration, bool) {
	if _, up := r.await(3*time.Minute, online); !up {
		c.fault("%s, as shipped, is not online: %+v", r.id, r.link())
		return 0, false
	}
	r.line.Strike(f, 1)
	if needsConnect[f] {
		r.line.Strike(netfault.Cut, 1)
		if _, off := r.await(time.Minute, notOnline); !off {
			return 0, false
		}
		for range 2000 { // the new connection comes after a pause
			if r.line.Counts()[f] > 0 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	took, ok := r.await(2*time.Minute, seen)
	if !ok {
		c.fault("%s, as shipped: %s was not noticed within two minutes", r.id, f)
	}
	return took, ok
}
