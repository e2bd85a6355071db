package planner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"deviceagent/cloudlink/planner/store"
)

// Server is the endpoint. Make it with New and run it once.
type Server struct {
	opt  Options
	link *link
	hub  *hub

	monitors *monitors

	secured *secured // TLS of HTTP; nil: in clear

	requests chan request
	open     chan open // questions for Consult
	due      chan store.CloudStep
	done     chan struct{} // closed when Run's loop has ended: nobody takes requests any more
	ready    chan struct{} // closed at the first subscription
	linkOpen atomic.Bool   // for /readyz; written by Run's goroutine
	running  atomic.Bool

	// Run's goroutine only.
	robots    map[string]*robot
	receipts  map[storeOf][]string // ids stored and not receipted yet
	pruned    time.Time
	gapsSeen  time.Time             // when it was last looked for what waits too long
	doing     map[stepKey]bool      // cloud steps that were handed over
	stepsOpen bool                  // a cloud step may be due, or tell something
	stepsSeen time.Time             // when that was last looked for
	held      map[stepKey]time.Time // until when those that were told late are left alone
	wg        sync.WaitGroup
}

// request is a change that HTTP asks for: one transaction, then the device's queue is looked at again.
type request struct {
	device string
	do     func(*store.Tx) error
	reply  chan error
}

// New checks the options, and reads the files of TLS. It opens nothing and starts nothing.
func New(opt Options) (*Server, error) {
	if err := opt.complete(); err != nil {
		return nil, fmt.Errorf("cannot make planner endpoint: %w", err)
	}
	s := &Server{
		opt: opt, hub: newHub(), requests: make(chan request), open: make(chan open, consultWait), due: make(chan store.CloudStep, stepsWaiting), doing: map[stepKey]bool{}, held: map[stepKey]time.Time{}, stepsOpen: true, done: make(chan struct{}), ready: make(chan struct{}),
		robots: map[string]*robot{}, receipts: map[storeOf][]string{},
	}
	s.link, s.monitors = newLink(&s.opt), newMonitors(s.opt.Now)
	if opt.Token != "" && !opt.TLS.on() && !loopback(opt.HTTP.Addr()) {
		opt.Log.Warn().Str("listen", opt.HTTP.Addr().String()).Msg("the token goes over the network in clear; put TLS before it, or give a certificate for HTTP")
	}
	if opt.TLS.on() {
		s.secured = &secured{files: opt.TLS, now: s.opt.Now, log: opt.Log}
		if _, err := s.secured.config(nil); err != nil {
			return nil, fmt.Errorf("cannot make planner endpoint: %w", err)
		}
	}
	return s, nil
}

// Ready is closed when the server has subscribed to the devices' topics for the first time and answers HTTP.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Run serves until ctx ends (then it returns nil) or a promise is broken: the store failed, or HTTP could not be served. It
// returns when all that it started has stopped.
func (s *Server) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer s.wg.Wait()
	defer stop(nil)
	if err := s.load(ctx); err != nil {
		close(s.done)
		return err
	}
	s.wg.Go(func() { s.link.run(ctx) })
	s.wg.Go(func() {
		if err := s.serveHTTP(ctx); err != nil {
			stop(err)
		}
	})
	if s.opt.Consult != nil {
		for range consultants {
			s.wg.Go(func() { s.consulting(ctx) })
		}
	}
	if s.opt.Agents != nil {
		for range stepsAtOnce {
			s.wg.Go(func() { s.carrying(ctx) })
		}
	}
	defer close(s.done)
	return s.loop(ctx)
}

func (s *Server) loop(ctx context.Context) error {
	ticks := s.opt.Ticks
	if ticks == nil {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		ticks = t.C
	}
	flush := time.NewTimer(time.Hour)
	flush.Stop()
	defer flush.Stop()
	work := context.WithoutCancel(ctx) // a step that was begun is done to its end; each is short
	s.running.Store(true)
	defer s.running.Store(false)
	for {
		var err error
		select {
		case m := <-s.link.inbox:
			waits := len(s.receipts) > 0 // the timer runs already: a steady stream must not put it off for ever
			err = s.intake(work, s.drain(m))
			if !waits && len(s.receipts) > 0 {
				flush.Reset(receiptDelay)
			}
		case r := <-s.requests:
			err = s.carryOut(work, r)
		case up := <-s.link.states:
			err = s.linkChanged(work, up)
		case <-flush.C:
			s.flushReceipts()
		case <-ticks:
			err = s.tick(work)
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// drain takes what else is waiting, so that a burst costs one commit.
func (s *Server) drain(first upMessage) []upMessage {
	batch := []upMessage{first}
	for len(batch) < intakeBatch {
		select {
		case m := <-s.link.inbox:
			batch = append(batch, m)
		default:
			return batch
		}
	}
	return batch
}

// change hands a transaction to the owner and waits for its end. A *problem from do is an answer and changes nothing; any other
// error stops the server, since the disk may differ from what we think.
func (s *Server) change(ctx context.Context, device string, do func(*store.Tx) error) error {
	r := request{device: device, do: do, reply: make(chan error, 1)}
	select {
	case s.requests <- r:
	case <-s.done:
		return errStopping
	case <-ctx.Done():
		return context.Cause(ctx) // not handed over, so surely not done
	}
	return <-r.reply // the owner always answers; giving up here would leave the outcome unknown
}

var errStopping = &problem{Status: 503, Code: "stopping", Title: "the planner is stopping", Hint: "try again"}

func (s *Server) carryOut(ctx context.Context, r request) error {
	err := s.opt.Store.Update(ctx, r.do)
	var answer *problem
	if errors.As(err, &answer) {
		r.reply <- answer
		return nil
	}
	if err != nil {
		r.reply <- err
		return fmt.Errorf("cannot keep request: %w", err)
	}
	err = s.refresh(ctx, r.device)
	if err == nil {
		err = s.pump(ctx, r.device)
	}
	r.reply <- nil // it is durable, whatever became of the rest
	return err
}

// tick looks after all that is due: re-sends, expiry, old messages.
func (s *Server) tick(ctx context.Context) error {
	for _, id := range s.robotIDs() {
		if err := s.expire(ctx, id); err != nil {
			return err
		}
		if err := s.pump(ctx, id); err != nil {
			return err
		}
	}
	if err := s.passGaps(ctx); err != nil {
		return err
	}
	if err := s.lookAfterSteps(ctx); err != nil {
		return err
	}
	s.monitors.prune()
	return s.prune(ctx)
}

// prune drops old messages and records, a bounded number at a time, so that intake never waits long.
func (s *Server) prune(ctx context.Context) error {
	now := s.opt.Now()
	if now.Sub(s.pruned) < pruneEvery {
		return nil
	}
	var messages, records int64
	err := s.opt.Store.Update(ctx, func(tx *store.Tx) (err error) {
		if messages, err = tx.PruneMessages(ms(now.AddDate(0, 0, -messageDays)), pruneBatch); err == nil {
			records, err = tx.PruneRecords(ms(now.AddDate(0, 0, -recordDays)), pruneBatch)
		}
		return err
	})
	if n := messages + records; n > 0 {
		s.opt.Log.Info().Int64(keyCount, n).Msg("old messages and records pruned")
	}
	if max(messages, records) < pruneBatch { // else the next tick goes on
		s.pruned = now
	}
	return err
}
