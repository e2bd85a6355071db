package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/testbed/home"
)

// demo is one run. Everything in it belongs to the goroutine of [Run]; others send to events.
type demo struct {
	opt    Options
	tell   teller
	dir    string
	events chan any
	quit   context.Context // ends with the run: nobody takes events any more

	plannerd, agentd, robotd *process
	planner                  *planner
	mqtt                     string
	witness                  *witness
	heard                    tally
	robotLog                 *follower

	starts   int // of the agent: how often it was ready
	executor bool
	plan     turnAnswer
	work     workflow
	speed    float64
	killAt   home.Kind // empty: no crash (any more)
	killed   home.Kind
}

// Things that happen, as the owner gets them. Others are agentLine and publish; the robot's log it reads itself.
type (
	readyLine string   // of plannerd
	ended     *process // a process that ended, asked or not
	due       func() error
)

// callError says that the demo was asked for something that cannot be shown. No log would tell more.
type callError struct{ error }

// Run shows the demo. It returns nil only if the workflow was completed with all effects observed, or if the planner answered
// without a device step. On an error the log files stay, and the error says where. It returns when ctx ends, everything stopped.
func Run(ctx context.Context, opt Options) (err error) {
	opt.defaults()
	dir, err := os.MkdirTemp("", "deviceagent-demo-")
	if err != nil {
		return fmt.Errorf("cannot make a folder for the demo: %w", err)
	}
	quit, stop := context.WithCancel(ctx)
	d := &demo{opt: opt, tell: teller{w: opt.Talk}, dir: dir, events: make(chan any, 64), quit: quit, speed: opt.Speed}
	d.robotLog = newFollower(d.file("robot.log"), d.robotDid)
	defer func() {
		stop()
		d.close()
		if err != nil && ctx.Err() == nil && !errors.As(err, new(callError)) {
			err = fmt.Errorf("%w\nthe log files are kept in %s: plannerd.log, agent.log, robot.log (what the body did), robot.out", err, dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	return d.run(ctx)
}

func (d *demo) run(ctx context.Context) error {
	d.tell.note("DeviceAgent demo. Everything runs on this machine; the robot is simulated and nothing real moves.")
	if err := d.startAll(ctx); err != nil {
		return err
	}
	d.tell.note("The home runs %g times faster than life; the agent's clock is real.\n", d.speed)
	sum, err := d.show(ctx)
	if err != nil {
		return err
	}
	d.conclude(sum)
	if d.opt.Keep {
		d.tell.note("%s", d.addresses())
	}
	line, err := json.Marshal(sum)
	if err != nil {
		return fmt.Errorf("cannot write the summary: %w", err)
	}
	if _, err := fmt.Fprintf(d.opt.Data, "%s\n", line); err != nil {
		return fmt.Errorf("cannot write the summary: %w", err)
	}
	if faults := sum.faults(); len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	if d.opt.Keep {
		return d.keepOn(ctx)
	}
	return nil
}

// show says the sentence and follows the work to its end.
func (d *demo) show(ctx context.Context) (*Summary, error) {
	d.tell.began = time.Now()
	d.tell.say("you", "%q", d.opt.Say)
	var err error
	if d.plan, err = d.planner.say(ctx, d.opt.Say, true); err != nil {
		return nil, err
	}
	d.tell.say("planner", "%q", d.plan.TTS)
	for _, r := range d.plan.Requests {
		d.tell.say("planner", "%s: %s", r.CloudStepID, sayStep(r))
	}
	sum := &Summary{Utterance: d.opt.Say, Answer: d.plan.TTS, Steps: []Step{}, Effects: map[string]string{}, ModelCalls: d.plan.ModelCalls}
	if id := d.plan.WorkflowID; id != "" {
		sum.WorkflowID = &id
		if err := d.followWork(ctx, id); err != nil {
			return nil, err
		}
		sum.take(d.work.Result)
		sum.ModelCalls = d.work.ModelCalls
		c := d.heard.of(id)
		sum.UplinkPublishes, sum.UplinkRepeats = c.Total, c.Repeats
	}
	sum.ElapsedMS = time.Since(d.tell.began).Milliseconds()
	if d.killed != "" {
		c, err := auditFile(d.file("robot.log"), d.killed, d.plan.Requests)
		if err != nil {
			return nil, err
		}
		sum.Crash = &c
	}
	return sum, nil
}

// followWork waits until the planner has the result, and the outside subscriber has seen it too.
func (d *demo) followWork(ctx context.Context, id string) error {
	closed := func() (bool, error) {
		w, err := d.planner.workflow(ctx, id)
		if err != nil {
			return false, err
		}
		if d.work = w; w.Submission == "refused" || w.Submission == "expired" {
			return false, fmt.Errorf("the plan was not taken: %s %s", w.Submission, refusal(w))
		}
		return w.Status != "" && w.Result != nil, nil
	}
	if err := d.until(ctx, "the result of the workflow", d.opt.Limit, closed); err != nil {
		return err
	}
	return d.until(ctx, "the outside subscriber to see the result", witnessLimit, func() (bool, error) {
		return d.heard.of(id).ByKind[string(wire.TypeResult)] > 0, nil
	})
}

func refusal(w workflow) string {
	text := w.ReasonCode
	for _, s := range w.Submissions {
		if s.Ack != nil {
			for _, f := range s.Ack.Errors {
				text += "; " + f.Path + ": " + f.Message
			}
		}
	}
	return text
}

// until takes what happens until done says so. It fails on a process that ends unasked, at the limit, and when ctx ends.
func (d *demo) until(ctx context.Context, what string, limit time.Duration, done func() (bool, error)) error {
	late := time.NewTimer(limit)
	defer late.Stop()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case ev := <-d.events:
			if err := d.take(ev); err != nil {
				return err
			}
		case <-look.C:
			if err := d.robotLog.read(); err != nil {
				return err
			}
		case <-poll.C:
			if ok, err := done(); ok || err != nil {
				return err
			}
		case <-late.C:
			return fmt.Errorf("cannot wait any longer for %s: nothing after %s", what, limit)
		case <-ctx.Done():
			return errors.New("interrupted")
		}
	}
}

// send hands something over to the owner, from any goroutine.
func (d *demo) send(ev any) {
	select {
	case d.events <- ev:
	case <-d.quit.Done():
	}
}

func (d *demo) after(pause time.Duration, do func() error) {
	time.AfterFunc(pause, func() { d.send(due(do)) })
}

// keepOn leaves everything running until ctx ends.
func (d *demo) keepOn(ctx context.Context) error {
	err := d.until(ctx, "Ctrl-C", 365*24*time.Hour, func() (bool, error) { return false, nil })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// close stops everything: first who says, then who acts, last who listens.
func (d *demo) close() {
	d.robotd.stop()
	d.agentd.stop()
	d.witness.close()
	d.plannerd.stop()
	d.robotLog.close()
}

func (d *demo) file(name string) string { return filepath.Join(d.dir, name) }
