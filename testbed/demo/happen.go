package demo

import (
	"fmt"
	"io"
	"strings"

	"deviceagent/testbed/home"
)

// take is the owner's answer to one thing that happened.
func (d *demo) take(ev any) error {
	switch ev := ev.(type) {
	case readyLine:
		return d.plannerReady(string(ev))
	case agentLine:
		// The robot writes its log before it tells the agent, so what caused this line is told first.
		if err := d.robotLog.read(); err != nil {
			return err
		}
		d.agentSaid(ev)
	case publish:
		d.published(ev)
	case due:
		return ev()
	case ended:
		if p := (*process)(ev); d.isCurrent(p) { // one that we killed is nobody's any more
			return p.fault()
		}
	}
	return nil
}

func (d *demo) agentSaid(a agentLine) {
	switch a.Message {
	case msgReady:
		if d.starts++; d.starts > 1 {
			d.tell.say("agent", "is back (start no. %d)", a.StartNo)
		}
	case msgExecutor:
		d.executor = true
	case msgStep:
		d.tell.say(a.StepID, "%s", sayState(a))
	}
}

// robotDid tells what the body did, and plays the people around it: the one who pulls the plug, and the one who is measured.
func (d *demo) robotDid(e home.Entry) {
	if d.tell.began.IsZero() && e.Kind == home.KindEvent {
		return // the agent's store is new, so it has the body stopped once: nothing to show yet
	}
	d.tell.say("robot", "%s", sayRobot(e))
	if d.killAt != "" && e.Kind == d.killAt {
		d.killed, d.killAt = d.killAt, ""
		d.after(crashAfter, d.crash)
	}
	if e.Kind == home.KindEvent && e.Event == "vital.started" {
		d.tell.say("person", "holds still for the measurement (played by this demo; a robot would wait for you)")
		d.after(holdStill, d.holdStill)
	}
}

func (d *demo) holdStill() error {
	if _, err := io.WriteString(d.robotd.stdin, "vital complete\n"); err != nil {
		return fmt.Errorf("cannot play the person: %w", err)
	}
	return nil
}

func (d *demo) crash() error {
	old := d.agentd
	d.agentd = nil
	d.tell.say("demo", "kill -9 of deviceagentd in the middle of the %s", workNames[d.killed])
	old.kill()
	d.after(darkTime, func() error {
		d.tell.say("demo", "starts deviceagentd again: its store says what was open, and it asks the robot before it repeats anything")
		return d.startAgent()
	})
	return nil
}

// publishWords tell what a message up is for.
var publishWords = map[string]string{
	"ack":      "ack: the agent answers the plan (taken is not done)",
	"result":   "result: how it ended, with the evidence",
	"step_due": "step_due: a step of the cloud is due",
}

func (d *demo) published(p publish) {
	d.heard.add(p)
	if d.plan.WorkflowID == "" || p.workflow != d.plan.WorkflowID {
		return
	}
	words, ok := publishWords[p.kind]
	if !ok {
		words = p.kind
	}
	d.tell.say("MQTT up", "%s", words)
}

func (d *demo) plannerReady(line string) error {
	var http, mqtt string
	for word := range strings.FieldsSeq(line) {
		if v, ok := strings.CutPrefix(word, "http="); ok {
			http = v
		}
		if v, ok := strings.CutPrefix(word, "mqtt="); ok {
			mqtt = v
		}
	}
	if http == "" || mqtt == "" {
		return fmt.Errorf("cannot understand the planner's ready line %q", line)
	}
	d.planner, d.mqtt = newPlanner(http), mqtt
	return nil
}
