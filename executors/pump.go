package executors

import (
	"context"
	"sync"

	"deviceagent/taskmanager/core"
)

// maxPosted bounds what waits for the pump. The core makes outputs only while it takes events, so the bound is not reached while
// it lives; an answer dropped at the bound costs what a silent executor costs: the core's own deadline, then a probe.
const maxPosted = 1 << 16

// pump carries the registry's own answers to the sink, in order, so that Carry never waits for the inbox of its own caller.
type pump struct {
	mu      sync.Mutex
	waiting []core.Event
	wake    chan struct{} // holds one token when something waits
}

func newPump() *pump { return &pump{wake: make(chan struct{}, 1)} }

// post reports false when the bound is reached and ev was dropped.
func (p *pump) post(ev core.Event) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) >= maxPosted {
		return false
	}
	p.waiting = append(p.waiting, ev)
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return true
}

func (p *pump) take() []core.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	evs := p.waiting
	p.waiting = nil
	return evs
}

func (p *pump) run(ctx context.Context, sink Sink) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.wake:
		}
		for _, ev := range p.take() {
			if err := sink(ctx, ev); err != nil {
				return err
			}
		}
	}
}
