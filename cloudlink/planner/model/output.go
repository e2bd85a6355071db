package model

import "deviceagent/cloudlink/planner/registry"

// output is what the main planner of a model says. Its names are those of docs/planner.md; a test holds it against its schema.
type output struct {
	TurnMode         string     `json:"turn_mode"`
	SelectedRoutes   []string   `json:"selected_routes"`
	SelectedFlowID   string     `json:"selected_flow_id"`
	SelectedAgent    string     `json:"selected_agent"`
	SelectedSkill    string     `json:"selected_skill"`
	OwnerSelection   string     `json:"owner_selection"`
	ContraryEvidence []evidence `json:"contrary_evidence"`
	Steps            []step     `json:"steps"`
	MissingSlots     []string   `json:"missing_slots"`
	FamilyConfidence string     `json:"family_confidence"`
	RunnerUpFamily   string     `json:"runner_up_family"`
	NeedsSecondPass  bool       `json:"needs_second_pass"`
	AmbiguityReason  string     `json:"ambiguity_reason"`
	STTNullSubtype   string     `json:"stt_null_subtype"`
	STTNullScope     string     `json:"stt_null_target_scope"`
	STTNullRecovery  string     `json:"stt_null_recoverability"`
	AskFollowUp      bool       `json:"ask_follow_up"`
	TTSResponse      string     `json:"tts_response"`
}

type step struct {
	ID               string      `json:"id"`
	Route            string      `json:"route"`
	Purpose          string      `json:"purpose"`
	Span             string      `json:"span"`
	ExecutionTarget  string      `json:"execution_target"`
	DeviceTask       task        `json:"device_task"`
	DependsOn        []string    `json:"depends_on"`
	InputFrom        []string    `json:"input_from"`
	OutputKey        string      `json:"output_key"`
	WaitPolicy       string      `json:"wait_policy"`
	TemporalRelation string      `json:"temporal_relation"`
	TemporalAnchorID string      `json:"temporal_anchor_id"`
	DelayMS          int64       `json:"delay_ms"`
	When             []condition `json:"when"`
	RequiredEffects  []string    `json:"required_effects"`
}

type task struct {
	Method string  `json:"taskMethod"`
	Params []param `json:"params"`
}

// param is one argument as text: the catalog knows its type, and a value of many types is what servers' grammars disagree about.
type param struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type condition struct {
	Ref    string   `json:"ref"`
	Op     string   `json:"op"`
	Values []string `json:"values"`
}

// evidence is why a decision that is anchored in the registry is wrong all the same.
type evidence struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Span string `json:"span"`
}

// none stands for "no value" in a list of words: an empty word is refused by one server.
const none = "none"

// The kinds of evidence. Each is checked against the registry and the words.
const (
	byOperation   = "operation"            // id: a taskMethod
	byUnsupported = "unsupported_category" // id: a category of planner.json
	bySchedule    = "schedule"             // id: none
	byProduct     = "product_topic"        // id: a topic of planner.json
)

// outputSchema is the shape of output, with every list of words out of the registry.
func (r *known) outputSchema() Schema {
	orNone := func(words []string) Schema { return oneOf(append([]string{none}, words...)...) }
	params := oneOf(r.params()...)
	taskShape := object(
		field("taskMethod", "the operation, one of those that are listed", oneOf(r.methods()...)),
		field("params", "its arguments; a room by its name, true or false, a number in digits", list(object(field("name", "", params), field("value", "", text())))))
	stepShape := object(
		field("id", "step_1, step_2, …", text()),
		field("route", "ODL", oneOf("ODL")),
		field("purpose", "a few words for people who read plans", text()),
		field("span", "the words of utterance, copied letter by letter, that ask for this step", text()),
		field("execution_target", "", oneOf("device")),
		field("device_task", "", taskShape),
		field("depends_on", "ids of steps before it that have to be completed", list(text())),
		field("input_from", "output_key of steps whose values its conditions read", list(text())),
		field("output_key", "a name for its values where a later step reads them, else empty", text()),
		field("wait_policy", "completed; event: what follows waits for its start only", oneOf("completed", "event", "submitted")),
		field("temporal_relation", "after_planned_step where delay_ms is set", orNone([]string{"after_planned_step"})),
		field("temporal_anchor_id", "the step from whose end the delay counts, else empty", text()),
		field("delay_ms", "0: none", Schema{Type: "integer"}),
		field("when", "conditions of which all have to hold; empty: none", list(object(
			field("ref", "output_key.field, or ctx. and a context key", text()),
			field("op", "", oneOf("eq", "ne", "lt", "le", "gt", "ge", "in", "exists")),
			field("values", "one value, or several for in", list(text()))))),
		field("required_effects", "only where another than the operation's own is meant", list(oneOf(r.effects()...))))
	return object(
		field("turn_mode", "", oneOf("singleton", "multi_turn", "multi_step", "parallel")),
		field("selected_routes", "the families that take part, the owner first", list(oneOf(r.families()...))),
		field("selected_flow_id", "the owner's flow", oneOf(r.lists(registry.Flow.ID)...)),
		field("selected_agent", "the owner's agent", oneOf(r.lists(func(f registry.Flow) string { return f.Agent })...)),
		field("selected_skill", "the owner's skill", oneOf(r.lists(func(f registry.Flow) string { return f.Skill })...)),
		field("owner_selection", "the family that owns the turn", oneOf(r.families()...)),
		field("contrary_evidence", "only where draft is wrong: what it has missed", list(object(
			field("kind", "", oneOf(byOperation, byUnsupported, bySchedule, byProduct)),
			field("id", "the taskMethod, category or topic; none for schedule", text()),
			field("span", "the words of utterance, copied letter by letter", text())))),
		field("steps", "for ODL only; empty where something is still to be asked", list(stepShape)),
		field("missing_slots", "parameters that nobody has said", list(params)),
		field("family_confidence", "", oneOf("high", "medium", "low")),
		field("runner_up_family", "the family that would come next", orNone(r.families())),
		field("needs_second_pass", "true where DEF, FRG and STT_NULL are close", Schema{Type: "boolean"}),
		field("ambiguity_reason", "a few words, or empty", text()),
		field("stt_null_subtype", "", orNone([]string{"STT_NULL_HARD", "STT_NULL_GENERIC", "STT_NULL_SOFT"})),
		field("stt_null_target_scope", "", orNone([]string{"device", "public", "workflow", "conversation"})),
		field("stt_null_recoverability", "", orNone([]string{"unrecoverable", "clarification", "scoped_probe"})),
		field("ask_follow_up", "true where the reply is a question that has to be answered first", Schema{Type: "boolean"}),
		field("tts_response", "what is said now, one or two sentences in the user's language; never that something was done", text()))
}
