package linkfault

import (
	"strings"
	"testing"
	"time"

	"deviceagent/testbed/netfault"
)

// What the campaign is there to find is found, whichever of the three witnesses tells it.
func TestTheJudgeFindsWhatMustNeverBe(t *testing.T) {
	type world struct {
		cloud *cloudDisk
		dev   *deviceDisk
		body  *bodyLog
	}
	whole := func() world {
		return world{
			&cloudDisk{status: map[string]string{"wf": "completed"}, refused: map[string]string{}, results: map[string]int{"wf": 1}, other: map[string]string{},
				seqs: map[string]map[int64]bool{"r": {1: true, 2: true}}},
			&deviceDisk{states: map[string]string{"wf": "completed"}, lastSeq: 2},
			&bodyLog{asked: map[string]int{"wf s1": 1, "wf s2": 1}, spoken: map[string]int{"wf s1": 1, "wf s2": 1}, at: map[string]int{"wf s1": 3, "wf s2": 5}},
		}
	}
	for name, tc := range map[string]struct {
		spoil func(world)
		want  string
	}{
		"all in order":                             {func(world) {}, ""},
		"the planner has no result":                {func(w world) { w.cloud.status["wf"] = ""; w.cloud.results["wf"] = 0 }, "lost: wf: the planner says"},
		"the device does not know the plan":        {func(w world) { delete(w.dev.states, "wf") }, "lost: wf: the planner says"},
		"the two say different things":             {func(w world) { w.dev.states["wf"] = "failed" }, "lost: wf ended failed on the device"},
		"a second result says something else":      {func(w world) { w.cloud.other["wf"] = "failed" }, "lost: wf has two results"},
		"a state without the message that said so": {func(w world) { w.cloud.results["wf"] = 0 }, "lost: wf has no message"},
		"a message up is missing":                  {func(w world) { delete(w.cloud.seqs["r"], 2) }, "lost: r: 1 of 2 messages up"},
		"completed, and a step was never done":     {func(w world) { delete(w.body.spoken, "wf s2") }, `lost: "wf s2" was never said`},
		"a step was asked for twice":               {func(w world) { w.body.asked["wf s1"] = 2 }, `doubled: "wf s1"`},
		"a step was done twice":                    {func(w world) { w.body.spoken["wf s1"] = 2 }, `doubled: "wf s1"`},
		"a step came before the one it waits for":  {func(w world) { w.body.at["wf s2"] = 1 }, `out of order: "wf s2"`},
	} {
		w := whole()
		tc.spoil(w)
		rep := &Report{States: map[string]int{}, Refused: map[string]int{}}
		compare(rep, "r", []*submitted{{id: "wf", robot: "r", steps: []string{"wf s1", "wf s2"}, sure: 2}}, w.cloud, w.dev, w.body)
		got := strings.Join(rep.Never, "\n")
		if tc.want == "" && !rep.Good() || !strings.HasPrefix(got, tc.want) || rep.Good() != (tc.want == "") {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// What the robots answered is held against what they were told.
func TestTheJudgeHoldsEachMessageDownAgainstItsAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*cloudDisk)
		want  string
	}{
		"all in order":              {func(*cloudDisk) {}, ""},
		"the same answer once more": {func(d *cloudDisk) { d.acks["p"] = append(d.acks["p"], d.acks["p"][0]) }, ""},
		"a plan is still open":      {func(d *cloudDisk) { d.downs[0].open = true }, "lost: plan of wf waits"},
		"a plan was never answered": {func(d *cloudDisk) { delete(d.acks, "p") }, "lost: plan of wf has no answer"},
		"a plan whose result came":  {func(d *cloudDisk) { delete(d.acks, "p"); d.status = map[string]string{"wf": "completed"} }, ""},
		"refused, and refused again for another reason": {func(d *cloudDisk) {
			d.acks["p"] = []ack{{reason: "outdated_revision"}, {reason: "already_terminal"}}
		}, ""},
		"a plan that never left":               {func(d *cloudDisk) { delete(d.acks, "p"); d.downs[0].sent = false }, ""},
		"two answers that differ":              {func(d *cloudDisk) { d.acks["p"] = append(d.acks["p"], ack{seq: 9, reason: "expired"}) }, "doubled: plan of wf was answered true"},
		"an older control after a newer one":   {func(d *cloudDisk) { d.acks["c1"][0].seq = 7 }, "out of order: a control of wf"},
		"an older control that was superseded": {func(d *cloudDisk) { d.acks["c1"][0] = ack{seq: 7, reason: "superseded"} }, ""},
		"an old answer that came once more": {func(d *cloudDisk) {
			d.acks["c1"] = []ack{{seq: 7, accepted: true}, {seq: 3, accepted: true}}
		}, ""},
	} {
		d := &cloudDisk{downs: []down{{id: "p", kind: "plan", workflow: "wf", sent: true, seq: 1}, {id: "c1", kind: "control", workflow: "wf", sent: true, seq: 2},
			{id: "c2", kind: "control", workflow: "wf", sent: true, seq: 3}},
			acks: map[string][]ack{"p": {{seq: 1, accepted: true}}, "c1": {{seq: 3, accepted: true}}, "c2": {{seq: 4, accepted: true}}}}
		tc.spoil(d)
		rep := &Report{}
		d.answersOf(rep)
		if got := strings.Join(rep.Never, "\n"); !strings.HasPrefix(got, tc.want) || rep.Good() != (tc.want == "") {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestAReportSaysWhatItLacks(t *testing.T) {
	o := Options{Messages: 10, Plans: 5, Each: 2, Slow: 1}
	r := &Report{Messages: 9, Plans: 4, Struck: map[netfault.Fault]int{netfault.Cut: 1}, Slow: []time.Duration{51 * time.Second}, Types: map[string]int{"up/ack": 1}}
	got := strings.Join(r.Lacks(o), "\n")
	for _, want := range []string{"9 messages", "4 plans", "cut struck 1 times", "agent_killed struck 0 times", "0 missing CONNACKs", "noticed after 51s", "no message down/decision"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
