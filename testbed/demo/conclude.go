package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// conclude tells people what the summary says.
func (d *demo) conclude(s *Summary) {
	if s.Workflow == nil {
		d.tell.note("\nNo step for the robot: the planner answered by itself, and nothing was sent to the agent as a plan.")
		return
	}
	d.tell.note("\nWhat proves it, from the agent's result:")
	for _, st := range s.Steps {
		d.tell.note("  %s  %s", st.ID, strings.TrimRight(st.State+" "+st.Reason, " "))
		for _, e := range st.Evidence {
			d.tell.note("          %s", sayProof(e))
		}
	}
	d.tell.note("%s", d.cost(s))
	if s.Crash != nil {
		d.tell.note("%s", sayCrash(s.Crash))
	}
}

func (d *demo) cost(s *Summary) string {
	kinds := d.heard.of(*s.WorkflowID).ByKind
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		parts = append(parts, fmt.Sprintf("%d %s", kinds[kind], kind))
	}
	if s.UplinkRepeats > 0 {
		parts = append(parts, fmt.Sprintf("%d of them sent again, since nobody had confirmed it", s.UplinkRepeats))
	}
	return fmt.Sprintf("Workflow %s: %d %s, %d publishes up (%s; counted by an outside MQTT subscriber), %d model calls.",
		*s.Workflow, len(s.Steps), plural("step", len(s.Steps)), s.UplinkPublishes, strings.Join(parts, ", "), s.ModelCalls)
}

func sayCrash(c *Crash) string {
	if len(c.Faults) > 0 {
		return "The crash did harm, says the robot's own log: " + strings.Join(c.Faults, "; ") + "."
	}
	return fmt.Sprintf("The agent was killed during a %s. The robot's own log: %d %s, %d %s, none twice.", c.KilledDuring,
		c.Movements, plural("movement", c.Movements), c.Cleanings, plural("cleaning", c.Cleanings))
}

func plural(word string, n int) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
