package bridge

import (
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Reason codes of faults that the check of a plan finds, beside those of the wire and the catalog.
const (
	ReasonUnknownStep      core.Reason = "unknown_step"
	ReasonCycle            core.Reason = "cycle"
	ReasonBadDependency    core.Reason = "bad_dependency"
	ReasonUnknownToken     core.Reason = "unknown_token"
	ReasonTokenMismatch    core.Reason = "token_mismatch"
	ReasonNotForPlans      core.Reason = "method_not_for_plans"
	ReasonNotSchedulable   core.Reason = "not_schedulable"
	ReasonUnknownSkill     core.Reason = "unknown_skill"
	ReasonUnknownOutput    core.Reason = "unknown_output"
	ReasonUnknownEvent     core.Reason = "unknown_event"
	ReasonUnknownEffect    core.Reason = "unknown_effect"
	ReasonEffectNoProvider core.Reason = "effect_not_provided"
	ReasonBadCondition     core.Reason = "bad_condition"
)

// Refusal is one reason code with which a message is refused before the core sees it.
type Refusal struct {
	Code   core.Reason
	Decode bool // found in the bytes and the shape of a message
	Plan   bool // found by CheckPlan
	Text   string
}

// Refusals is the one table of the codes that this package gives, in the order in which it is printed into docs/contract.md. What
// the core refuses (late, repeated, of another epoch) is in its own table.
var Refusals = []Refusal{
	{wire.ReasonMalformed, true, true, "not well-formed, not deterministic, or no message at all; a token_text that cannot be read"},
	{wire.ReasonUnknownField, true, false, "a member that the contract does not have"},
	{wire.ReasonWrongType, true, false, "for example text where a number belongs"},
	{wire.ReasonMissingField, true, true, "a member that has to be there"},
	{wire.ReasonBadValue, true, true, "right type, wrong spelling or out of range, or members that exclude each other"},
	{wire.ReasonTooLarge, true, true, "over one of the limits; also the last entry where there are more than 64 faults"},
	{wire.ReasonUnsupported, true, true, "in the contract and not in this agent, or of another contract"},
	{wire.ReasonSignature, true, false, "not signed although it has to be, changed after it was signed, or signed by a key that is not known here"},
	{wire.ReasonDuplicateStepID, true, false, "two steps of a plan with one `cloud_step_id`"},
	{core.ReasonWrongDevice, true, false, "the message is for another device"},
	{catalog.ReasonUnknownMethod, false, true, "a `taskMethod` that the catalog does not have"},
	{ReasonNotForPlans, false, true, "a method that the agent keeps to itself (`internal`), or that only a plan handed in on the robot may name (`lab`)"},
	{ReasonNotSchedulable, false, true, "a method that the catalog does not let stand in a schedule"},
	{catalog.ReasonUnknownParameter, false, true, "a parameter that the method does not have"},
	{catalog.ReasonMissingParameter, false, true, "a parameter that the method needs"},
	{catalog.ReasonBadParameter, false, true, "a parameter with a wrong type or value"},
	{catalog.ReasonUnknownLocation, false, true, "a name that means no room, or more than one"},
	{catalog.ReasonRoomUnreachable, false, true, "a room that cannot be reached"},
	{ReasonUnknownToken, false, true, "a token that the catalog does not map"},
	{ReasonTokenMismatch, false, true, "`taskMethod` and `token_text` mean different things"},
	{ReasonUnknownSkill, false, true, "a skill that the catalog does not have"},
	{ReasonUnknownStep, false, true, "a dependency or an anchor that the plan does not have"},
	{ReasonBadDependency, false, true, "a dependency on itself, or twice on one step with different ends"},
	{ReasonCycle, false, true, "steps that wait for each other; each of them has an entry"},
	{ReasonUnknownOutput, false, true, "an input from an output that no earlier step gives"},
	{ReasonBadCondition, false, true, "a condition with a wrong shape, type or reference"},
	{ReasonUnknownEvent, false, true, "an event that the catalog does not have"},
	{ReasonUnknownEffect, false, true, "an effect that the catalog does not have"},
	{ReasonEffectNoProvider, false, true, "an effect that this call does not bring about, or a motion that nothing would prove"},
	{core.ReasonDeadlineTooShort, false, true, "delays and declared durations on the longest path take longer than `deadline_ms`"},
}
