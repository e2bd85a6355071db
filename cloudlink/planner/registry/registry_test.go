package registry

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

func TestTheShippedRegistry(t *testing.T) {
	r := Default()
	for family, want := range map[turn.Family]string{turn.ODL: "ODL.ODL.device_execution_bridge", turn.SCH: "SCH.SCH.schedule_reminder_create",
		turn.FRG: "FRG.FRG.freshness_answer_composition", turn.DEF: "DEF.DEF.default_conversation", turn.STTNull: "STT_NULL.STT_NULL.stt_null_repair"} {
		f, ok := r.Owner(family)
		if !ok || f.ID() != want {
			t.Errorf("%s is owned by %q, want %s", family, f.ID(), want)
		}
		var d turn.Decision
		f.Own(&d)
		if back, ok := r.Flow(d.SelectedFlowID); !ok || back != f || d.SelectedAgent != f.Agent || d.SelectedSkill != f.Skill || d.OwnerSelection != family {
			t.Errorf("%s: %+v leads back to %+v", family, d, back)
		}
	}
	if _, ok := r.Flow("ODL.ODL.fly"); ok {
		t.Error("a flow that nobody registered is found")
	}
}

func TestSkillsNeedTheirCapabilities(t *testing.T) {
	mute := &catalog.Catalog{Operations: map[catalog.Method]catalog.Operation{"setMoveTo": {Capability: "movement"}}}
	speaking := &catalog.Catalog{Operations: map[catalog.Method]catalog.Operation{"say": {Capability: "speech"}, "setVolume": {Capability: "sound"}}}
	rest := Flow{turn.DEF, "DEF", "rest_guidance"}
	if _, ok := Default().For(mute).Flow(rest.ID()); ok {
		t.Error("a robot without a voice is offered to guide a rest")
	}
	if _, ok := Default().For(speaking).Flow(rest.ID()); !ok {
		t.Error("a robot with a voice is not offered to guide a rest")
	}
	if _, ok := Default().For(mute).Owner(turn.STM); !ok {
		t.Error("nobody is left to say that there are no stories here")
	}
}

// TestFaultsAreNamed: all of them, each with its place.
func TestFaultsAreNamed(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(r *Registry)
		want   []string
	}{
		{"nobody serves a family", func(r *Registry) { r.Agents = r.Agents[:len(r.Agents)-1] }, []string{"agents: nobody serves ETR"}},
		{"an id twice, and a purpose that is missing", func(r *Registry) { r.Agents[1].AgentID, r.Agents[3].Purpose = "ODL", " " },
			[]string{"agents[1].agent_id: ODL stands twice", "agents[3].purpose: is empty"}},
		{"a family that is none", func(r *Registry) { r.Agents[0].RouteFamily = "OLD" }, []string{`agents[0].route_family: "OLD" is none`, "nobody serves ODL"}},
		{"two for one family", func(r *Registry) { r.Agents[8].RouteFamily = turn.DEF }, []string{"agents[8].route_family: DEF has an agent already", "agents: nobody serves ETR"}},
		{"no skill", func(r *Registry) { r.Agents[5].Skills = nil }, []string{"agents[5].skills: an agent without a skill"}},
		{"skills", func(r *Registry) {
			s := r.Agents[2].Skills
			s[0].Cues.Ko, s[1].SkillID, s[1].ExecutionMode, s[2].RequiredCapabilities, s[2].Cues = []string{"지금"}, "a.b", "moon", nil, catalog.Aliases{}
		}, []string{"agents[2].skills[0]: the first skill", `agents[2].skills[1].skill_id: "a.b"`, `agents[2].skills[1].execution_mode: "moon"`,
			"agents[2].skills[2].required_capabilities: is missing", "agents[2].skills[2].cues: are empty"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r Registry
			if err := json.Unmarshal(shipped, &r); err != nil {
				t.Fatal(err)
			}
			tc.change(&r)
			data, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse(bytes.NewReader(data))
			if err == nil {
				t.Fatal("no fault is found")
			}
			lines := strings.Split(err.Error(), "\n")
			for _, want := range tc.want {
				if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, want) }) {
					t.Errorf("%q is not named in\n%v", want, err)
				}
			}
			if len(lines) != len(tc.want) {
				t.Errorf("%d faults, want %d:\n%v", len(lines), len(tc.want), err)
			}
		})
	}
	for name, text := range map[string]string{"a field that nobody knows": `{"agents":[],"agent":1}`, "two objects": string(shipped) + "{}", "no JSON": "agents"} {
		if _, err := Parse(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
