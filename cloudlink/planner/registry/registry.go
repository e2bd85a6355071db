package registry

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// Mode says where a skill does its work.
type Mode string

// The modes.
const (
	Device Mode = "device"
	Cloud  Mode = "cloud"
	Both   Mode = "both" // composed in the cloud, told or kept by the device
)

// Skill is one thing that an agent does. Cues are words that tell it from the other skills of its agent; the skill without any is meant
// where none is said.
type Skill struct {
	SkillID              string          `json:"skill_id"`
	Purpose              string          `json:"purpose"`
	WhenToUse            string          `json:"when_to_use"`
	WhenNotToUse         string          `json:"when_not_to_use"`
	RequiredCapabilities []string        `json:"required_capabilities"` // of the device's catalog; all of them
	ExecutionMode        Mode            `json:"execution_mode"`
	Cues                 catalog.Aliases `json:"cues,omitzero"`
}

// Agent serves one route family.
type Agent struct {
	AgentID      string      `json:"agent_id"`
	RouteFamily  turn.Family `json:"route_family"`
	Purpose      string      `json:"purpose"`
	WhenToUse    string      `json:"when_to_use"`
	WhenNotToUse string      `json:"when_not_to_use"`
	Skills       []Skill     `json:"skills"` // the first owns a turn of which nothing more is known
}

// Flow is one registered way to serve a turn.
type Flow struct {
	Family turn.Family
	Agent  string
	Skill  string
}

// ID is {route_family}.{agent_id}.{skill_id}.
func (f Flow) ID() string { return string(f.Family) + "." + f.Agent + "." + f.Skill }

// Own makes the flow the owner of a decision.
func (f Flow) Own(d *turn.Decision) {
	d.OwnerSelection, d.SelectedAgent, d.SelectedSkill, d.SelectedFlowID = f.Family, f.Agent, f.Skill, f.ID()
}

// Registry is a list of agents without a fault. It is only read.
type Registry struct {
	Agents []Agent `json:"agents"`
}

//go:embed agents.json
var shipped []byte

// Default is the registry that is shipped.
var Default = sync.OnceValue(func() *Registry {
	r, err := Parse(bytes.NewReader(shipped))
	if err != nil {
		panic("internal error: agents.json: " + err.Error())
	}
	return r
})

// Families are all route families, in the order of the contract. Each needs an agent.
var Families = []turn.Family{turn.ODL, turn.SCH, turn.FRG, turn.DEF, turn.DQR, turn.UNS, turn.STTNull, turn.STM, turn.ETR}

// Parse reads a registry. Errors: every fault, each with its path in the file, such as "agents[2].skills[0].skill_id: is empty".
func Parse(from io.Reader) (*Registry, error) {
	var r Registry
	dec := json.NewDecoder(from)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("cannot read registry of agents: %w", err)
	}
	if dec.More() {
		return nil, errors.New("cannot read registry of agents: something stands behind its object")
	}
	if faults := r.faults(); len(faults) > 0 {
		return nil, errors.New(strings.Join(faults, "\n"))
	}
	return &r, nil
}

var id = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

func (r *Registry) faults() (faults []string) {
	bad := func(path, format string, args ...any) {
		faults = append(faults, path+": "+fmt.Sprintf(format, args...))
	}
	agents, served := map[string]bool{}, map[turn.Family]bool{}
	for i, a := range r.Agents {
		at := fmt.Sprintf("agents[%d]", i)
		switch {
		case !id.MatchString(a.AgentID):
			bad(at+".agent_id", "%q is no id: letters, digits and _", a.AgentID)
		case agents[a.AgentID]:
			bad(at+".agent_id", "%s stands twice", a.AgentID)
		}
		switch {
		case !slices.Contains(Families, a.RouteFamily):
			bad(at+".route_family", "%q is none of the families", a.RouteFamily)
		case served[a.RouteFamily]:
			bad(at+".route_family", "%s has an agent already", a.RouteFamily)
		}
		agents[a.AgentID], served[a.RouteFamily] = true, true
		told(bad, at, a.Purpose, a.WhenToUse, a.WhenNotToUse)
		a.skillFaults(at, bad)
	}
	for _, f := range Families {
		if !served[f] {
			bad("agents", "nobody serves %s", f)
		}
	}
	return faults
}

func (a Agent) skillFaults(at string, bad func(path, format string, args ...any)) {
	if len(a.Skills) == 0 {
		bad(at+".skills", "an agent without a skill can own no turn")
	}
	seen := map[string]bool{}
	for n, s := range a.Skills {
		at := fmt.Sprintf("%s.skills[%d]", at, n)
		switch {
		case !id.MatchString(s.SkillID):
			bad(at+".skill_id", "%q is no id: letters, digits and _", s.SkillID)
		case seen[s.SkillID]:
			bad(at+".skill_id", "%s stands twice", s.SkillID)
		}
		seen[s.SkillID] = true
		told(bad, at, s.Purpose, s.WhenToUse, s.WhenNotToUse)
		if s.RequiredCapabilities == nil {
			bad(at+".required_capabilities", "is missing; [] where the device needs none")
		}
		if !slices.Contains([]Mode{Device, Cloud, Both}, s.ExecutionMode) {
			bad(at+".execution_mode", "%q is none of device, cloud, both", s.ExecutionMode)
		}
		cued := len(s.Cues.Ko)+len(s.Cues.En) > 0
		switch {
		case n == 0 && (cued || len(s.RequiredCapabilities) > 0 && len(a.Skills) > 1):
			bad(at, "the first skill is the one where nothing more is known: it has no cues, and needs nothing that another does not")
		case n > 0 && !cued:
			bad(at+".cues", "are empty: nothing tells this skill from the first")
		}
	}
}

func told(bad func(path, format string, args ...any), at, purpose, when, whenNot string) {
	for _, f := range [][2]string{{"purpose", purpose}, {"when_to_use", when}, {"when_not_to_use", whenNot}} {
		if strings.TrimSpace(f[1]) == "" {
			bad(at+"."+f[0], "is empty")
		}
	}
}

// Flows are all flows, in the order of the file.
func (r *Registry) Flows() (out []Flow) {
	for _, a := range r.Agents {
		for _, s := range a.Skills {
			out = append(out, Flow{a.RouteFamily, a.AgentID, s.SkillID})
		}
	}
	return out
}

// Owner is the flow of a family of which nothing more is known; ok false: nobody serves it.
func (r *Registry) Owner(f turn.Family) (Flow, bool) {
	a, ok := r.Agent(f)
	if !ok || len(a.Skills) == 0 {
		return Flow{}, false
	}
	return Flow{f, a.AgentID, a.Skills[0].SkillID}, true
}

// Agent is the one that serves a family.
func (r *Registry) Agent(f turn.Family) (Agent, bool) {
	i := slices.IndexFunc(r.Agents, func(a Agent) bool { return a.RouteFamily == f })
	if i < 0 {
		return Agent{}, false
	}
	return r.Agents[i], true
}

// Flow finds a flow by its id.
func (r *Registry) Flow(id string) (Flow, bool) {
	for _, f := range r.Flows() {
		if f.ID() == id {
			return f, true
		}
	}
	return Flow{}, false
}

// Skill finds the entry of a flow.
func (r *Registry) Skill(f Flow) (Skill, bool) {
	a, _ := r.Agent(f.Family)
	i := slices.IndexFunc(a.Skills, func(s Skill) bool { return s.SkillID == f.Skill })
	if i < 0 {
		return Skill{}, false
	}
	return a.Skills[i], true
}

// For leaves out the skills whose capabilities a robot does not have. An agent keeps its first skill: somebody has to say that it cannot.
func (r *Registry) For(cat *catalog.Catalog) *Registry {
	has := map[string]bool{}
	for _, op := range cat.Operations {
		has[op.Capability] = true
	}
	out := &Registry{}
	for _, a := range r.Agents {
		first := a.Skills[0].SkillID
		a.Skills = slices.DeleteFunc(slices.Clone(a.Skills), func(s Skill) bool {
			return s.SkillID != first && slices.ContainsFunc(s.RequiredCapabilities, func(c string) bool { return !has[c] })
		})
		out.Agents = append(out.Agents, a)
	}
	return out
}
