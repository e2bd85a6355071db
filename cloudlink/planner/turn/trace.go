package turn

// Trace is what each stage of a turn found, in the order of docs/planner.md. It explains a decision and changes none: nothing reads it to
// plan but the stages behind it.
type Trace struct {
	Normalised   Normalised   `json:"normalised_input"`       // 1
	History      History      `json:"history"`                // 2
	Ranked       RankedFlows  `json:"ranked_flow_context"`    // 3
	Hints        Hints        `json:"preclassifier_hints"`    // 4
	Object       ObjectMeta   `json:"reply_object_meta"`      // 5, 6
	Reply        ReplyMeta    `json:"replyability_meta"`      // 7, 8
	Candidates   Candidates   `json:"candidates"`             // 9
	ShortCircuit ShortCircuit `json:"schedule_short_circuit"` // 10
	Shortcut     string       `json:"shortcut,omitempty"`     // 11: which one answered, with no main planner
	Main         *MainPass    `json:"main_planner,omitempty"` // 12; nil: a shortcut answered
	SecondNeed   SecondNeed   `json:"needs_second_pass"`      // 13
	Second       *SecondPass  `json:"second_pass,omitempty"`  // 14; nil: none was held
	Centre       Centre       `json:"ranked_flow_centre"`     // 15
	Escape       Escape       `json:"replan_escape"`          // 16
	Metadata     Metadata     `json:"decision_metadata"`      // 17
	Usage        Usage        `json:"usage"`                  // 17
	Without      []string     `json:"without,omitempty"`      // parts that were left out, to measure them
	Refined      []string     `json:"refinements,omitempty"`  // what completed the decision
	Roles        []string     `json:"model_roles,omitempty"`  // small questions that a model answered
}

// Normalised is the words, and how sure the voice front end was of them.
type Normalised struct {
	Text       string `json:"text"` // NFC, single spaces, no mark at the end
	Words      int    `json:"words"`
	Language   string `json:"language"` // ko, en
	Question   bool   `json:"question_mark"`
	Partial    bool   `json:"partial,omitempty"`
	Unsure     bool   `json:"unsure,omitempty"`      // recognised with little confidence
	ForAnother bool   `json:"for_another,omitempty"` // the front end says that the robot was not spoken to
}

// History is what was going on when the words came. It helps to read a fragment and never stands in for the words.
type History struct {
	Turns                 int    `json:"turns"`
	HintStrength          string `json:"history_hint_strength"` // none, weak, strong
	SlotState             *Slots `json:"slot_state,omitempty"`
	ActiveWorkflowSummary string `json:"active_workflow_summary,omitempty"`
	PendingFollowUpText   string `json:"pending_follow_up_text,omitempty"` // what the robot asked last and nobody has answered
	LastFamily            Family `json:"last_family,omitempty"`
}

// Match is an entry of a registry that the words name.
type Match struct {
	ID   string `json:"id"`
	Span string `json:"span"`
}

// Hints is what the preclassifier found: matches and flags. It is evidence; an imperative alone is none for the device.
type Hints struct {
	ExecutionMatches       []Match `json:"execution_matches"`
	StateQueryMatches      []Match `json:"state_query_matches"`
	SettingsMatches        []Match `json:"settings_matches"`
	UnsupportedMatches     []Match `json:"unsupported_matches"`
	DeviceQnATopics        []Match `json:"device_qna_topics"`
	ProductIdentityAnchors []Match `json:"product_identity_anchors"`

	HasExecutionCapabilityAnchor      bool     `json:"has_execution_capability_anchor"`
	HasStateQueryCapabilityAnchor     bool     `json:"has_state_query_capability_anchor"`
	HasSettingsCapabilityAnchor       bool     `json:"has_settings_capability_anchor"`
	HasSupportedCapabilityAnchor      bool     `json:"has_supported_capability_anchor"`
	HasDeviceActionCueSurface         bool     `json:"has_device_action_cue_surface"`
	HasExplicitODLIntent              bool     `json:"has_explicit_odl_intent"`
	HasScheduleWorkflowScope          bool     `json:"has_schedule_workflow_scope"`
	HasScheduleManagementAnchor       bool     `json:"has_schedule_management_anchor"`
	HasScheduleTimeSemantics          bool     `json:"has_schedule_time_semantics"`
	HasContextualScheduleSlotFragment bool     `json:"has_contextual_schedule_slot_fragment"`
	HasPublicRecommendationCue        bool     `json:"has_public_recommendation_cue"`
	HasFRGScope                       bool     `json:"has_frg_scope"`
	HasCoherentConversationPurpose    bool     `json:"has_coherent_conversation_purpose"`
	HasClearConversationReplyShape    bool     `json:"has_clear_conversation_reply_shape"`
	HasStableDeviceQnATarget          bool     `json:"has_stable_device_qna_target"`
	LooksFragmentary                  bool     `json:"looks_fragmentary"`
	UnsupportedRequestCategories      []string `json:"unsupported_request_categories"`
	STTNullResponseStrategy           string   `json:"stt_null_response_strategy,omitempty"` // retry, clarification, scoped_probe

	// Beside those that docs/planner.md lists.
	HasContentCue        bool    `json:"has_content_session_cue"` // a story, a quiz
	HasFactQuestion      bool    `json:"has_fact_question"`       // who, where, how much
	HasMissingCapability bool    `json:"has_missing_capability_anchor"`
	MissingMatches       []Match `json:"missing_capability_matches"` // what a home robot may have and this one has not
	PublicMatches        []Match `json:"public_matches"`             // weather, information, places, media that are asked about
	HasSelfTarget        bool    `json:"has_self_target"`            // it is about the user's own taste or style
	HasCancelCue         bool    `json:"has_cancel_cue"`
}

// RankedFlow is one flow with why it is looked at. Score is 0 to 1, over all flows.
type RankedFlow struct {
	FlowID     string  `json:"flow_id"`
	Confidence string  `json:"confidence"` // high, medium, low
	Score      float64 `json:"score"`
	Rationale  string  `json:"rationale"`
}

// RankedFlows is a prior: which flows are looked at first. It is no verdict.
type RankedFlows struct {
	AllowedFamilies []Family     `json:"ranked_allowed_route_families"`
	TopFlows        []RankedFlow `json:"top_flows"`
	PrimaryFlow     string       `json:"ranked_primary_flow,omitempty"`
	Owner           Family       `json:"ranked_owner_selection,omitempty"`
	OwnerStrength   string       `json:"ranked_owner_selection_hint_strength,omitempty"` // strong, medium, weak
	Alternative     Family       `json:"ranked_owner_alternative_selection,omitempty"`
	By              string       `json:"by"` // inline, model, off
}

// ObjectMeta says what a first useful reply would be about.
type ObjectMeta struct {
	Type       string   `json:"object_type"`       // supported_device unsupported_execution_target public_entity outside_option device_knowledge workflow_target conversation unknown
	Role       string   `json:"object_role"`       // act_target, asked_about, mentioned, none
	Confidence string   `json:"object_confidence"` // high, medium, low
	Signals    []string `json:"reason_signals"`
	By         string   `json:"by"` // rules, model
}

// The object types.
const (
	SupportedDevice   = "supported_device"
	UnsupportedTarget = "unsupported_execution_target"
	PublicEntity      = "public_entity"
	OutsideOption     = "outside_option"
	DeviceKnowledge   = "device_knowledge"
	WorkflowTarget    = "workflow_target"
	Conversation      = "conversation"
	UnknownObject     = "unknown"
)

// ReplyMeta says whether a narrow first reply can begin at once.
type ReplyMeta struct {
	Type       string `json:"replyability"` // bounded_reply_now, whole_intent_repair, uncertain
	Confidence string `json:"replyability_confidence"`
	Reason     string `json:"replyability_reason"`
	By         string `json:"by"` // rules, model
}

// What can be done with words at once.
const (
	BoundedReply = "bounded_reply_now"
	IntentRepair = "whole_intent_repair"
	Uncertain    = "uncertain"
)

// Candidates are who the main planner may look at first.
type Candidates struct {
	AgentIDs []string `json:"ranked_candidate_agent_ids"`
	SkillIDs []string `json:"ranked_candidate_skill_ids"`
	Source   string   `json:"ranked_candidate_source"` // ranked_top_flows, preclassifier_fallback
}

// ShortCircuit says whether the words answer a question about a schedule that is open.
type ShortCircuit struct {
	Active bool   `json:"active"` // a schedule is being talked about
	Taken  bool   `json:"taken"`
	Reason string `json:"reason"`
}

// MainPass is what the main planner said at first.
type MainPass struct {
	By         string `json:"by"` // rules, or the verdict of the turn for which a model was asked
	Family     Family `json:"owner_selection"`
	FlowID     string `json:"selected_flow_id"`
	Confidence string `json:"family_confidence"`
	RunnerUp   Family `json:"runner_up_family,omitempty"`
	Rule       string `json:"rule,omitempty"` // of the rules
	Steps      int    `json:"steps"`
}

// SecondNeed says whether, between whom and why a second pass is held.
type SecondNeed struct {
	Opens  bool     `json:"opens"`
	Pair   []Family `json:"pair,omitempty"`
	Reason string   `json:"reason"`
}

// SecondPass is the answer to one narrow question. It changes the family alone, and plans nothing.
type SecondPass struct {
	Question string `json:"question"`
	Family   Family `json:"family"`
	Changed  bool   `json:"changed"`
	Reason   string `json:"reason"`
	By       string `json:"by"` // rules, model
}

// Centre says how the flow was set right within the family that was decided.
type Centre struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Changed bool   `json:"changed"`
	Reason  string `json:"reason"`
}

// Escape says whether the words leave what is under way, and whether a revision was let go.
type Escape struct {
	Policy string `json:"policy"` // nothing_under_way, stays, leaves_open_slots, beside_running_work, revises, revision_dropped
	Reason string `json:"reason"`
}

// Metadata says by whom and out of what a decision was made.
type Metadata struct {
	Planner    string  `json:"planner"` // shortcut, rules, model
	Owner      Family  `json:"owner_selection"`
	FlowID     string  `json:"selected_flow_id"`
	Confidence string  `json:"family_confidence"`
	RunnerUp   Family  `json:"runner_up_family,omitempty"`
	Margin     float64 `json:"margin"` // of the owner before the next family, by the ranked flows; negative: it is behind
	Catalog    string  `json:"catalog_etag,omitempty"`
}

// Usage is what a turn cost.
type Usage struct {
	ModelCalls   int64  `json:"model_calls"`
	InputTokens  *int64 `json:"input_tokens"` // null: no server reported any
	OutputTokens *int64 `json:"output_tokens"`
	LatencyMS    int64  `json:"latency_ms"` // of the model
}
