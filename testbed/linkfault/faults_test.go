package linkfault

import (
	"errors"
	"os"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink"
	"deviceagent/testbed/netfault"
)

// The answer, the result and the plan itself are acknowledged by the broker and go nowhere.
func TestF76_ARealBrokerThatAcksAndDrops(t *testing.T) {
	s := begin(t, false)
	s.r.line.Strike(netfault.DropDown, 1)
	s.plan("wf-down", 0)
	s.struck(s.r.line, netfault.DropDown)
	s.r.line.Strike(netfault.DropUp, 2)
	s.plan("wf-up", 0)
	s.ended()
	s.struck(s.r.line, netfault.DropUp)
}

// An acknowledgement that never comes ends the connection, and what it was for comes again.
func TestF40_NoPubackOfARealBroker(t *testing.T) {
	s := begin(t, false)
	before := s.r.link()
	s.r.line.Strike(netfault.NoPuback, 1)
	s.plan("wf", 0)
	s.struck(s.r.line, netfault.NoPuback)
	s.again(before)
}

func TestF39_ARealConnectionWithoutConnack(t *testing.T) {
	s := begin(t, false)
	before := s.r.link()
	s.r.line.Strike(netfault.Mute, 1)
	s.r.line.Strike(netfault.Cut, 1)
	s.plan("wf", 0)
	s.struck(s.r.line, netfault.Mute)
	s.again(before)
}

// The broker holds the old line for alive when the new one comes, and sends its will late: the planner sees the robot online all the same.
func TestF81_TheWillOfAHalfOpenLine(t *testing.T) {
	s := begin(t, false)
	ear := s.listen("witness")
	before := s.r.link()
	s.r.line.Strike(netfault.HalfOpen, 1)
	s.struck(s.r.line, netfault.HalfOpen)
	s.offline()
	s.plan("wf", 0)
	s.again(before)
	s.ended()
	s.until("a subscriber beside has heard the will", func() bool {
		for _, payload := range ear.of("up/status") {
			if e, err := wire.Decode(payload, wire.Options{Direction: wire.Up}); err == nil && e.Status != nil && !e.Status.Online {
				return true
			}
		}
		return false
	})
	s.until("the planner sees it online", func() bool { return s.seen() == "online" })
}

// The planner shows a robot whose line is cut, and closes nothing for it: the plan ends by the robot's own word.
func TestE12_ALostLinkEndsNoPlan(t *testing.T) {
	s := begin(t, false)
	s.plan("wf", 2*time.Second)
	s.until("the first sentence", func() bool { return s.said(says("wf", 1)) == 1 })
	s.r.line.Strike(netfault.Refuse, netfault.Always)
	s.r.line.Strike(netfault.Cut, 1)
	s.until("the planner sees the link lost", func() bool { return s.seen() == "link_lost" })
	s.until("the second sentence, offline", func() bool { return s.said(says("wf", 2)) == 1 })
	if open := s.book.sift(s.book.plans); len(open) != 1 {
		t.Error("the planner has ended a plan of which it heard nothing")
	}
	s.r.line.End(netfault.Refuse)
	s.ended()
}

// A line that comes and goes while a plan runs, in the middle of packets too.
func TestF42_ARealLineThatFlaps(t *testing.T) {
	s := begin(t, false)
	s.plan("wf", 3*time.Second)
	for n := range 6 {
		before := s.r.link()
		f := netfault.Cut
		if n%2 == 1 {
			f = netfault.CutShort
		}
		s.r.line.Strike(f, 1)
		s.again(before)
	}
}

// The broker is gone for long; meanwhile the agent is killed and starts without it. Plans go on, and all results come in order, once.
func TestF37_ABrokerAwayAndAStartWithoutIt(t *testing.T) {
	s := begin(t, false)
	for _, id := range []string{"wf-1", "wf-2", "wf-3", "wf-4"} {
		s.plan(id, 3*time.Second)
	}
	s.until("every first sentence", func() bool { return s.said(says("wf-4", 1)) == 1 && s.said(says("wf-1", 1)) == 1 })
	s.cell.broker.Kill()
	s.offline()
	if err := s.r.kill(); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.book.plans {
		s.until("said without a broker: "+p.steps[1], func() bool { return s.said(p.steps[1]) == 1 })
	}
	s.until("the results wait", func() bool { return s.r.unreceipted() >= len(s.book.plans) })
	if err := s.cell.broker.Again(); err != nil {
		t.Fatal(err)
	}
	s.online()
	s.ended()
}

func TestF44_ARealBrokerThatForgets(t *testing.T) {
	s := begin(t, false)
	s.plan("wf-1", 2*time.Second)
	s.until("the first sentence", func() bool { return s.said(says("wf-1", 1)) == 1 })
	before := s.r.link()
	if err := s.cell.restartBroker(true); err != nil {
		t.Fatal(err)
	}
	s.again(before)
	s.plan("wf-2", 0)
	s.ended()
	before = s.r.link()
	s.r.line.Strike(netfault.LoseSession, 1)
	s.r.line.Strike(netfault.Cut, 1)
	s.struck(s.r.line, netfault.LoseSession)
	s.again(before)
	s.plan("wf-3", 0)
}

// The planner dies between a message and its receipt: the robot keeps it, and it comes to the planner that starts over the store.
func TestF72_ThePlannerDiesBeforeItsReceipt(t *testing.T) {
	s := begin(t, false)
	s.plan("wf", 2*time.Second)
	s.until("the first sentence", func() bool { return s.said(says("wf", 1)) == 1 })
	s.until("the answer has its receipt", func() bool { return s.r.unreceipted() == 0 })
	s.cell.mu.Lock()
	s.cell.life.over.Store(true)
	s.cell.mu.Unlock()
	ear := s.listen("witness")
	s.until("the result has passed the broker", func() bool { return len(ear.of("up/result")) > 0 })
	if n := s.r.unreceipted(); n == 0 {
		t.Error("the robot let go of a result that no planner has stored")
	}
	if err := s.cell.killPlanner(); err != nil {
		t.Fatal(err)
	}
	s.ended()
}

// What the robot says comes to the planner twice and in another order.
func TestF28_DoubledAndReorderedAtThePlanner(t *testing.T) {
	s := begin(t, false)
	s.r.line.Strike(netfault.DoubleUp, netfault.Always)
	s.cell.line.Strike(netfault.DoubleDown, netfault.Always)
	s.cell.line.Strike(netfault.Reorder, 4)
	for _, id := range []string{"wf-1", "wf-2", "wf-3"} {
		s.plan(id, 0)
	}
	s.ended()
	for _, f := range []netfault.Fault{netfault.DoubleDown, netfault.Reorder} {
		if s.cell.line.Counts()[f] == 0 {
			t.Errorf("%s has not struck", f)
		}
	}
}

// Old messages come again among new ones, as live and as kept ones, and each of the new ones twice: nothing is said twice.
func TestF29_OldMessagesPlayedAgain(t *testing.T) {
	s := begin(t, false)
	s.plan("wf-1", 0)
	s.ended()
	for _, f := range []netfault.Fault{netfault.Replay, netfault.ReplayKept, netfault.DoubleDown} {
		s.r.line.Strike(f, 4)
	}
	s.plan("wf-2", 0)
	s.ended()
	s.plan("wf-3", 0)
	for _, f := range []netfault.Fault{netfault.Replay, netfault.ReplayKept, netfault.DoubleDown} {
		s.struck(s.r.line, f)
	}
}

// A plan that somebody has the broker keep: it comes live, again with the next subscription, and is cleared. The very bytes of the planner.
func TestF78_APlanThatTheBrokerKeeps(t *testing.T) {
	s := begin(t, false)
	ear, cloud := s.listen("witness"), s.listen("planner")
	s.plan("wf", 0)
	s.ended()
	bytes := ear.of("down/plan")[0]
	acks := len(ear.of("up/ack"))
	s.say(cloud, "down/plan", true, bytes)
	s.until("the same again has an answer", func() bool { return len(ear.of("up/ack")) > acks })
	before, dropped := s.r.link(), s.r.link().Dropped
	s.r.line.Strike(netfault.LoseSession, 1) // a subscription that is new gets what is kept
	s.r.line.Strike(netfault.Cut, 1)
	s.again(before)
	s.until("what was kept is not taken", func() bool { return s.r.link().Dropped > dropped })
	s.say(cloud, "down/plan", true, nil)
	s.plan("wf-2", 0)
}

// What cannot be read and what is too large is answered, and the link lives on.
func TestE15_EveryMessageIsAnswered(t *testing.T) {
	s := begin(t, false)
	ear, cloud := s.listen("witness"), s.listen("planner")
	before := s.r.link()
	for _, bad := range [][]byte{[]byte(`{"half`), make([]byte, 280_000)} {
		refused := func() (n int) {
			for _, payload := range ear.of("up/ack") {
				if e, err := wire.Decode(payload, wire.Options{Direction: wire.Up}); err == nil && e.Ack != nil && !e.Ack.Accepted {
					n++
				}
			}
			return n
		}
		had := refused()
		s.say(cloud, "down/plan", false, bad)
		s.until("a refusal that a subscriber beside can read", func() bool { return refused() > had })
	}
	if now := s.r.link(); now.ConnNo != before.ConnNo {
		t.Errorf("the link was lost: %+v", now)
	}
	s.plan("wf", 0)
}

// A header that announces 200 MB, a refused subscription, a connection that ends after its CONNACK, bytes that come one by one and late.
func TestF34_HostilePacketsOverARealLine(t *testing.T) {
	s := begin(t, false)
	for _, f := range []netfault.Fault{netfault.BadSuback, netfault.Kick, netfault.Refuse} {
		before := s.r.link()
		s.r.line.Strike(f, 1)
		s.r.line.Strike(netfault.Cut, 1)
		s.struck(s.r.line, f)
		s.again(before)
	}
	before := s.r.link()
	s.r.line.Strike(netfault.Oversize, 1)
	s.plan("wf-1", 0)
	s.struck(s.r.line, netfault.Oversize)
	s.again(before)
	for f, n := range map[netfault.Fault]int{netfault.Split: 8, netfault.Delay: 3, netfault.Throttle: 3} {
		s.r.line.Strike(f, n)
	}
	s.plan("wf-2", 0)
}

// A new certificate while the line is cut in the middle of a handshake: neither half of the pair nor the whole keeps the robot away.
func TestF13_ANewCertificateOverACutLine(t *testing.T) {
	s := begin(t, true)
	cut := func() {
		before := s.r.link()
		s.r.line.Strike(netfault.Cut, 1)
		s.r.line.Strike(netfault.CutShort, 2)
		s.struck(s.r.line, netfault.CutShort)
		s.again(before)
	}
	cert, key, err := s.cell.authority.Client(s.r.id)
	if err := errors.Join(err, os.WriteFile(s.stateFile("cert.pem"), cert, 0o600)); err != nil {
		t.Fatal(err)
	}
	cut()
	s.plan("wf-1", 0)
	s.ended()
	if err := os.WriteFile(s.stateFile("key.pem"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	cut()
	s.plan("wf-2", 0)
}

// A client with the robot's own name takes its connection away, again and again: that is told, and when it goes the robot is back.
func TestF46_ATwinAtARealBroker(t *testing.T) {
	s := begin(t, false)
	twin := mqtt.NewClient(beside(s.cell.broker.Addr, s.r.id).SetClientID(s.r.id)) // comes back whenever it is sent away
	s.wait(twin.Connect())
	s.until("a twin is suspected", func() bool { return s.r.link().Reason == cloudlink.ReasonTwin })
	twin.Disconnect(0)
	s.online()
	s.plan("wf", 0)
}
