package pipeline

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

var loaded = sync.OnceValues(func() (*catalog.Catalog, catalogfile.Planner) {
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		panic(err)
	}
	return cat, words
})

var whole = sync.OnceValue(func() *Planner {
	cat, words := loaded()
	return New(rules.New(cat, words), cat, words)
})

func plan(t *testing.T, p *Planner, in turn.Input) turn.Decision {
	t.Helper()
	d, err := p.Plan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if d.Trace == nil {
		t.Fatalf("%q has no trace", in.Text)
	}
	return d
}

// on lists the flags and matches of hints that are set, by their names in the trace.
func on(t *testing.T, h turn.Hints) (out []string) {
	t.Helper()
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	for name, v := range m {
		switch v := v.(type) {
		case bool:
			if v {
				out = append(out, name)
			}
		case []any:
			for _, one := range v {
				if match, ok := one.(map[string]any); ok {
					out = append(out, name+":"+match["id"].(string)+"="+match["span"].(string))
				}
			}
		}
	}
	return out
}

func TestThePreclassifierMarks(t *testing.T) {
	open := &turn.Slots{Function: "startBasicAirClear", Operation: "create", Missing: []string{"start_time"}}
	for _, tc := range []struct {
		said  string
		slots *turn.Slots
		has   string
		lacks string
	}{
		{"청정 시작해줘", nil, "execution_matches:startBasicAirClear=청정 has_execution_capability_anchor has_supported_capability_anchor has_device_action_cue_surface has_explicit_odl_intent", "has_settings_capability_anchor has_frg_scope looks_fragmentary"},
		{"배터리 얼마나 남았어?", nil, "has_state_query_capability_anchor has_explicit_odl_intent", "has_device_action_cue_surface"},
		{"볼륨 30으로", nil, "has_settings_capability_anchor has_explicit_odl_intent", "has_execution_capability_anchor"},
		{"유튜브 틀어줘", nil, "unsupported_matches:streaming_or_app_execution=유튜브 has_device_action_cue_surface", "has_supported_capability_anchor has_explicit_odl_intent"},
		{"가져와 줘", nil, "has_device_action_cue_surface", "has_supported_capability_anchor has_explicit_odl_intent"},
		{"매일 오후 여섯 시에 고정청정 예약해 줘", nil, "has_schedule_workflow_scope has_schedule_management_anchor has_schedule_time_semantics has_execution_capability_anchor", "has_contextual_schedule_slot_fragment has_explicit_odl_intent"},
		{"매일 오후 6시", nil, "has_schedule_time_semantics", "has_contextual_schedule_slot_fragment"},
		{"매일 오후 6시", open, "has_schedule_time_semantics has_contextual_schedule_slot_fragment has_schedule_workflow_scope", ""},
		{"취소해 줘", open, "has_cancel_cue", "has_contextual_schedule_slot_fragment"},
		{"그 예약은 취소해 줘", open, "has_cancel_cue has_schedule_management_anchor", "has_contextual_schedule_slot_fragment has_explicit_odl_intent"},
		{"오늘 날씨 어때", open, "has_frg_scope", "has_contextual_schedule_slot_fragment"},
		{"요즘 볼만한 영화 추천해줘", nil, "has_public_recommendation_cue has_frg_scope public_matches:video_playback=영화", "has_self_target"},
		{"나한테 어울리는 말투 추천해줘", nil, "has_public_recommendation_cue has_self_target", ""},
		{"필터는 언제 갈아야 해", nil, "has_stable_device_qna_target device_qna_topics:air_cleaning=필터는", "has_supported_capability_anchor"},
		{"오늘 좀 힘들었어", nil, "has_coherent_conversation_purpose has_clear_conversation_reply_shape", "has_frg_scope has_device_action_cue_surface"},
		{"높은 장게", nil, "looks_fragmentary", "has_clear_conversation_reply_shape"},
		{"퀴즈 내줘", nil, "has_content_session_cue", "unsupported_request_categories"},
		{"turn on the tv", nil, "unsupported_matches:other_appliance=tv has_device_action_cue_surface", "has_supported_capability_anchor"},
		{"what's the weather like", nil, "has_frg_scope", "has_supported_capability_anchor"},
	} {
		d := plan(t, whole(), turn.Input{Text: tc.said, Around: turn.Around{Slots: tc.slots}})
		got := on(t, d.Trace.Hints)
		for _, want := range strings.Fields(tc.has) {
			if !slices.Contains(got, want) {
				t.Errorf("%q lacks %s: %v", tc.said, want, got)
			}
		}
		for _, not := range strings.Fields(tc.lacks) {
			if slices.ContainsFunc(got, func(g string) bool { return g == not || strings.HasPrefix(g, not+":") }) {
				t.Errorf("%q has %s: %v", tc.said, not, got)
			}
		}
	}
}

func TestObjectReplyAndFlows(t *testing.T) {
	for _, tc := range []struct{ said, object, reply, first, source string }{
		{"주방으로 가", turn.SupportedDevice, turn.BoundedReply, "ODL.ODL.device_execution_bridge", "ranked_top_flows"},
		{"유튜브 틀어줘", turn.UnsupportedTarget, turn.BoundedReply, "UNS.UNS.unsupported_request_refusal", "ranked_top_flows"},
		{"요즘 볼만한 영화 추천해줘", turn.OutsideOption, turn.BoundedReply, "FRG.FRG.public_recommendation", "ranked_top_flows"},
		{"오늘 날씨 어때", turn.PublicEntity, turn.BoundedReply, "FRG.FRG.freshness_answer_composition", "ranked_top_flows"},
		{"필터는 언제 갈아야 해", turn.DeviceKnowledge, turn.BoundedReply, "DQR.DQR.device_qna_answer", "ranked_top_flows"},
		{"내일 아침 일곱 시에 알람 맞춰 줘", turn.WorkflowTarget, turn.BoundedReply, "SCH.SCH.schedule_reminder_create", "ranked_top_flows"},
		{"고마워", turn.Conversation, turn.BoundedReply, "DEF.DEF.default_conversation", "ranked_top_flows"},
		{"나한테 어울리는 말투 추천해줘", turn.Conversation, turn.BoundedReply, "", "ranked_top_flows"},
		{"높은 장게", turn.UnknownObject, turn.IntentRepair, "STT_NULL.STT_NULL.stt_null_repair", "ranked_top_flows"},
		{"청정", turn.SupportedDevice, turn.Uncertain, "", "ranked_top_flows"},
	} {
		tr := plan(t, whole(), turn.Input{Text: tc.said}).Trace
		if tr.Object.Type != tc.object || tr.Reply.Type != tc.reply || tc.first != "" && tr.Ranked.PrimaryFlow != tc.first || tr.Candidates.Source != tc.source {
			t.Errorf("%q: %+v %+v %+v %+v", tc.said, tr.Object, tr.Reply, tr.Ranked, tr.Candidates)
		}
		for _, f := range tr.Ranked.TopFlows {
			if _, ok := registry.Default().Flow(f.FlowID); !ok || f.Rationale == "" || !slices.Contains(tr.Ranked.AllowedFamilies, familyOf(f.FlowID)) {
				t.Errorf("%q: %+v is of no use", tc.said, f)
			}
		}
	}
}

// TestGreyZones: S14 and S15, from the words to what is kept of the doubt.
func TestGreyZones(t *testing.T) {
	for _, tc := range []struct {
		said            string
		family, runner  turn.Family
		subtype, pair   string
		secondDecidesOn turn.Family
	}{
		{"드래곤 길들이기", turn.STTNull, turn.DEF, "STT_NULL_GENERIC", "DEF STT_NULL", turn.STTNull},
		{"요트북 추천해줘", turn.FRG, turn.DEF, "", "DEF FRG", turn.FRG},
		{"나한테 어울리는 말투 추천해줘", turn.DEF, turn.FRG, "", "DEF FRG", turn.DEF},
		{"추천해줘", turn.DEF, turn.FRG, "", "DEF FRG", turn.DEF},
		{"높은 장게", turn.STTNull, turn.DEF, "STT_NULL_GENERIC", "DEF STT_NULL", turn.STTNull},
		{"변화의 시작", turn.STTNull, turn.DEF, "STT_NULL_GENERIC", "DEF STT_NULL", turn.STTNull},
		{"청정", turn.STTNull, turn.DEF, "STT_NULL_SOFT", "DEF STT_NULL", turn.STTNull},
		{"고마워", turn.DEF, turn.STTNull, "", "DEF STT_NULL", turn.DEF},
		{"요즘 서울 사는 친구가 왜 연락이 없지", turn.DEF, turn.STTNull, "", "DEF STT_NULL", turn.DEF}, // a place is named, and nothing of it is asked
		{"thank you", turn.DEF, turn.STTNull, "", "DEF STT_NULL", turn.DEF},             // two words, and a plain target
		{"good morning", turn.DEF, turn.STTNull, "", "DEF STT_NULL", turn.DEF},
		{"사랑의 시작", turn.STTNull, turn.DEF, "STT_NULL_GENERIC", "DEF STT_NULL", turn.STTNull},
		{"나한테 어울리는 옷 살 만한 매장 추천해줘", turn.FRG, turn.DEF, "", "DEF FRG", turn.FRG}, // a shop, for one's own clothes
	} {
		d := plan(t, whole(), turn.Input{Text: tc.said})
		var pair []string
		for _, f := range d.Trace.SecondNeed.Pair {
			pair = append(pair, string(f))
		}
		if d.OwnerSelection != tc.family || d.RunnerUpFamily != tc.runner || d.STTNullSubtype != tc.subtype || strings.Join(pair, " ") != tc.pair {
			t.Errorf("%q: %s, runner-up %s, %s, second pass %v", tc.said, d.OwnerSelection, d.RunnerUpFamily, d.STTNullSubtype, d.Trace.SecondNeed)
		}
		if s := d.Trace.Second; s == nil || s.Family != tc.secondDecidesOn || s.Question == "" || s.Reason == "" || s.Changed != (d.Trace.Main.Family != tc.family) {
			t.Errorf("%q: second pass %+v", tc.said, d.Trace.Second)
		}
		if f, _ := registry.Default().Flow(d.SelectedFlowID); f.Family != d.OwnerSelection || d.SelectedRoutes[0] != d.OwnerSelection || d.TTSResponse == "" || len(d.Steps) > 0 {
			t.Errorf("%q: %+v does not belong together", tc.said, d)
		}
	}
}

// TestNoSecondPass: what does something, asks by itself, or is of no pair, is left as it is.
func TestNoSecondPass(t *testing.T) {
	for _, said := range []string{"주방으로 가", "다 그만", "베란다로 가", "유튜브 틀어줘", "너 이름이 뭐야", "오늘 날씨 어때", "퀴즈 내줘", "요즘 볼만한 영화 추천해줘"} {
		if d := plan(t, whole(), turn.Input{Text: said}); d.Trace.SecondNeed.Opens || d.Trace.Second != nil || d.Trace.SecondNeed.Reason == "" {
			t.Errorf("%q: %+v %+v", said, d.Trace.SecondNeed, d.Trace.Second)
		}
	}
}

// TestTheFlowIsSetRightWithinItsFamily: and never over its border.
func TestTheFlowIsSetRightWithinItsFamily(t *testing.T) {
	for said, want := range map[string]string{
		"내일 알람 취소해줘":      "SCH.SCH.schedule_reminder_cancel",
		"오늘 일정 알려줘":       "SCH.SCH.schedule_reminder_list",
		"오늘 뉴스 알려줘":       "FRG.FRG.fresh_information_brief",
		"너 이름이 뭐야":        "DQR.DQR.device_introduction",
		"오늘 좀 힘들었어":       "DEF.DEF.default_conversation",
		"내일 아침 알람 맞춰 줘":   "SCH.SCH.schedule_reminder_create",
		"거실로 가서 청정하고 복귀해": "ODL.ODL.device_execution_bridge",
	} {
		d := plan(t, whole(), turn.Input{Text: said})
		if d.SelectedFlowID != want || string(d.OwnerSelection)+"."+d.SelectedAgent+"."+d.SelectedSkill != want || d.Trace.Centre.To != want {
			t.Errorf("%q: %s by %+v, want %s", said, d.SelectedFlowID, d.Trace.Centre, want)
		}
		if familyOf(d.Trace.Centre.From) != familyOf(d.Trace.Centre.To) {
			t.Errorf("%q: %+v left the family", said, d.Trace.Centre)
		}
	}
	chosen := turn.Decision{OwnerSelection: turn.SCH, SelectedFlowID: "SCH.SCH.schedule_reminder_list"}
	ranked := RankFlows(turn.Input{Text: "내일 알람 취소해줘"}, turn.Hints{HasScheduleWorkflowScope: true}, registry.Default(), false)
	if d, c := Align(chosen, ranked, registry.Default()); d.SelectedFlowID != chosen.SelectedFlowID || c.Changed {
		t.Errorf("a flow that somebody chose became %+v", c)
	}
}

// TestEachPartIsWorthSomething: without it something is decided otherwise, and never is anything done that was not before.
func TestEachPartIsWorthSomething(t *testing.T) {
	for _, tc := range []struct {
		part, said string
		look       func(turn.Decision) string
		with, then string
	}{
		{Preclassifier, "유튜브 틀어줘", func(d turn.Decision) string { return string(d.OwnerSelection) + " " + d.UnsupportedCategory }, "UNS streaming_or_app_execution", "UNS "},
		{Preclassifier, "오늘 날씨 어때", func(d turn.Decision) string { return string(d.OwnerSelection) }, "FRG", "DEF"},
		{Preclassifier, "play some music", func(d turn.Decision) string { return d.UnsupportedCategory }, "music_playback", "music_playback"},
		{RankedFlow, "내일 알람 취소해줘", func(d turn.Decision) string { return d.SelectedSkill }, "schedule_reminder_cancel", "schedule_reminder_create"},
		{RankedFlow, "오늘 뉴스 알려줘", func(d turn.Decision) string { return d.Trace.Candidates.Source }, "ranked_top_flows", "preclassifier_fallback"},
		{SecondPass, "나한테 어울리는 말투 추천해줘", func(d turn.Decision) string { return string(d.OwnerSelection) }, "DEF", "FRG"},
	} {
		full, less := plan(t, whole(), turn.Input{Text: tc.said}), plan(t, whole().Without(tc.part), turn.Input{Text: tc.said})
		if a, b := tc.look(full), tc.look(less); a != tc.with || b != tc.then {
			t.Errorf("%q: %q with %s, want %q; %q without, want %q", tc.said, a, tc.part, tc.with, b, tc.then)
		}
		if !slices.Equal(less.Trace.Without, []string{tc.part}) || full.Trace.Without != nil {
			t.Errorf("the trace does not say what was left out: %v", less.Trace.Without)
		}
	}
	for _, said := range []string{"유튜브 틀어줘", "오늘 날씨 어때", "에어컨 켜줘", "거실로 가서 티비 켜"} {
		if d := plan(t, whole().Without(Parts...), turn.Input{Text: said}); len(d.Steps) > 0 || d.Control != nil {
			t.Errorf("%q acts without its evidence: %+v", said, d.Steps)
		}
	}
}

// TestExperienceIsLeftOutByName: the refinement of that name, and no other.
func TestExperienceIsLeftOutByName(t *testing.T) {
	p := *whole()
	mark := func(name string) Refinement {
		return Refinement{name, func(_ turn.Input, d turn.Decision) turn.Decision { return d }}
	}
	p.Refinements = []Refinement{mark("slots"), mark(Experience)}
	if got := plan(t, &p, turn.Input{Text: "안녕"}).Trace.Refined; !slices.Equal(got, []string{"slots", Experience}) {
		t.Errorf("refined by %v", got)
	}
	if got := plan(t, p.Without(Experience), turn.Input{Text: "안녕"}).Trace.Refined; !slices.Equal(got, []string{"slots"}) {
		t.Errorf("without it refined by %v", got)
	}
}

// TestAShortcutAnswersAlone: the main planner is not asked, and the trace says who answered.
func TestAShortcutAnswersAlone(t *testing.T) {
	p := *whole()
	p.Shortcuts = []Shortcut{{"schedule slots", func(in turn.Input) (turn.Decision, bool) {
		d := turn.Decision{SelectedRoutes: []turn.Family{turn.SCH}}
		f, _ := registry.Default().Owner(turn.SCH)
		f.Own(&d)
		return d, in.Around.Slots != nil
	}}}
	open := turn.Around{Slots: &turn.Slots{Operation: "create", Missing: []string{"start_time"}}}
	d := plan(t, &p, turn.Input{Text: "매일 오후 6시", Around: open})
	if tr := d.Trace; tr.Shortcut != "schedule slots" || tr.Main != nil || !tr.ShortCircuit.Taken || !tr.ShortCircuit.Active || tr.Metadata.Planner != "shortcut" || tr.History.HintStrength != "strong" {
		t.Errorf("%+v", d.Trace)
	}
	if tr := plan(t, &p, turn.Input{Text: "매일 오후 6시"}).Trace; tr.Shortcut != "" || tr.Main == nil || tr.ShortCircuit.Active {
		t.Errorf("nothing is open, and %+v", tr)
	}
	if tr := plan(t, whole(), turn.Input{Text: "다 그만", Around: open}).Trace; tr.ShortCircuit.Taken || !tr.ShortCircuit.Active || tr.Escape.Policy != "leaves_open_slots" {
		t.Errorf("%+v %+v", tr.ShortCircuit, tr.Escape)
	}
}

// TestHistory: what was going on is told, and does not stand in for the words.
func TestHistory(t *testing.T) {
	a := turn.Around{History: []turn.Said{{By: "user", Text: "청정해 줘"}, {By: "robot", Text: "어느 방에서 할까요?", Family: turn.ODL}}, Workflows: []turn.Workflow{{WorkflowID: "wf", Status: "accepted", Utterance: "거실로 가"}}}
	h := plan(t, whole(), turn.Input{Text: "안녕", Around: a}).Trace.History
	if h.HintStrength != "strong" || h.PendingFollowUpText != "어느 방에서 할까요?" || h.LastFamily != turn.ODL || h.ActiveWorkflowSummary != "odl accepted 거실로 가" || h.Turns != 2 {
		t.Errorf("%+v", h)
	}
	with, bare := plan(t, whole(), turn.Input{Text: "주방으로 가", Around: a}), plan(t, whole(), turn.Input{Text: "주방으로 가"})
	if len(with.Steps) != 1 || with.Steps[0].TaskMethod != bare.Steps[0].TaskMethod {
		t.Errorf("history changed a plain command: %+v", with.Steps)
	}
	no := false
	if d := plan(t, whole(), turn.Input{Text: "고마워", Around: turn.Around{Voice: turn.Voice{Addressed: &no}}}); d.OwnerSelection != turn.STTNull || d.Trace.Reply.Type != turn.IntentRepair {
		t.Errorf("said to somebody else, and answered as %s: %+v", d.OwnerSelection, d.Trace.Reply)
	}
}

// TestWhatWasNotSaidToTheRobotMovesNothing: nor what was not said to its end. What stops something does so all the same.
func TestWhatWasNotSaidToTheRobotMovesNothing(t *testing.T) {
	no, yes := false, true
	open := turn.Around{Slots: &turn.Slots{Function: "startBasicAirClear", Operation: "create", Missing: []string{"start_time"}}}
	for _, said := range []string{"주방으로 가", "청정 켜 줘", "거실로 가서 청정하고 안방으로 가", "매일 오후 6시에 청정 예약해 줘", "오후 6시", "퀴즈 내 줘", "오늘 날씨 어때", "공기 나쁘면 청정해 줘", "go to the kitchen"} {
		for name, v := range map[string]turn.Voice{turn.NotAddressed: {Addressed: &no}, turn.NotFinished: {Partial: true, Addressed: &yes}} {
			around := open
			around.Voice = v
			d := plan(t, whole(), turn.Input{Text: said, Now: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC), Around: around})
			if d.OwnerSelection != turn.STTNull || d.STTNullScope != name || d.TTSResponse != "" || len(d.Steps) > 0 || d.Control != nil || d.Schedule != nil || d.AskFollowUp || d.Slots != around.Slots {
				t.Errorf("%s, %s: %s %q, %d steps, %+v", said, name, d.OwnerSelection, d.TTSResponse, len(d.Steps), d.Slots)
			}
		}
	}
	for _, said := range []string{"멈춰", "다 그만", "청정 꺼 줘", "stop"} {
		around := turn.Around{Voice: turn.Voice{Addressed: &no, Partial: true}}
		if d := plan(t, whole(), turn.Input{Text: said, Around: around}); d.Control == nil && len(d.Steps) == 0 {
			t.Errorf("%s stops nothing", said)
		}
	}
}

// TestRevisionsAreLetGo: of what is not open, and of what the device may have already. Nothing is sent then, and it is asked about.
func TestRevisionsAreLetGo(t *testing.T) {
	open := turn.Around{Workflows: []turn.Workflow{{WorkflowID: "wf_1", Revision: 3}}}
	step := []turn.Step{{ID: "step_1", TaskMethod: "setMoveTo", Params: wire.Object{"position": wire.Value{V: "주방"}}}}
	for _, tc := range []struct {
		name   string
		around turn.Around
		rev    *turn.Revises
		policy string
		steps  int
	}{
		{"open and newer", open, &turn.Revises{WorkflowID: "wf_1", Revision: 4}, "revises", 1},
		{"not open", open, &turn.Revises{WorkflowID: "wf_2", Revision: 4}, "revision_dropped", 0},
		{"old", open, &turn.Revises{WorkflowID: "wf_1", Revision: 3}, "revision_dropped", 0},
		{"none", open, nil, "beside_running_work", 1},
		{"nothing runs", turn.Around{}, nil, "nothing_under_way", 1},
	} {
		d, e := LetGo(turn.Input{Around: tc.around}, turn.Decision{OwnerSelection: turn.ODL, Revises: tc.rev, Steps: step}, "무엇을 할까요?")
		if e.Policy != tc.policy || len(d.Steps) != tc.steps || e.Reason == "" && tc.rev == nil || (tc.policy == "revision_dropped") != d.AskFollowUp {
			t.Errorf("%s: %+v, %+v", tc.name, e, d)
		}
	}
}

// TestEvidence: each piece cites words that were said, and a clear reading is ahead of the next.
func TestEvidence(t *testing.T) {
	for said, want := range map[string]string{
		"거실로 가서 공기청정 켜줘": "operation:setMoveTo operation:startBasicAirClear room:living_room ending:chain ending:request rule:every word is accounted for",
		"유튜브 틀어줘":        "unsupported:streaming_or_app_execution public:streaming_or_app_execution rule:what this robot does not do",
		"오늘 좀 힘들었어":      "rule:talk",
		"10분 뒤에 복귀해":     "operation:returnToStation time:delay_ms=600000 ending:request rule:every word is accounted for",
		"내일 알람 취소해줘":     "schedule:schedule rule:schedule",
	} {
		d := plan(t, whole(), turn.Input{Text: said})
		var got []string
		for _, e := range d.Evidence {
			got = append(got, e.Kind+":"+e.ID)
			if e.Kind != "rule" && (e.Span == "" || !strings.Contains(said, e.Span)) || e.Margin < 0 || e.Margin > 1 {
				t.Errorf("%q: %+v", said, e)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q rests on %v, want %s", said, got, want)
		}
	}
	if d := plan(t, whole(), turn.Input{Text: "주방으로 가"}); d.Evidence[0].Margin < 0.7 || d.Trace.Metadata.Margin < 0.7 {
		t.Errorf("a plain command is ahead by %v, %v", d.Evidence[0].Margin, d.Trace.Metadata.Margin)
	}
}

// TestTheTraceHasAllStages: by the names of docs/planner.md.
func TestTheTraceHasAllStages(t *testing.T) {
	data, err := json.Marshal(plan(t, whole(), turn.Input{Text: "요트북 추천해줘"}).Trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(`execution_matches state_query_matches settings_matches unsupported_matches device_qna_topics product_identity_anchors has_execution_capability_anchor
		has_state_query_capability_anchor has_settings_capability_anchor has_supported_capability_anchor has_device_action_cue_surface has_explicit_odl_intent has_schedule_workflow_scope
		has_schedule_management_anchor has_schedule_time_semantics has_contextual_schedule_slot_fragment has_public_recommendation_cue has_frg_scope has_coherent_conversation_purpose
		has_clear_conversation_reply_shape has_stable_device_qna_target looks_fragmentary unsupported_request_categories top_flows flow_id confidence rationale object_type object_role
		object_confidence reason_signals replyability replyability_confidence replyability_reason history_hint_strength ranked_primary_flow ranked_allowed_route_families
		ranked_candidate_agent_ids ranked_candidate_skill_ids ranked_candidate_source ranked_owner_selection ranked_owner_selection_hint_strength ranked_owner_alternative_selection
		normalised_input schedule_short_circuit main_planner needs_second_pass second_pass ranked_flow_centre replan_escape decision_metadata usage`) {
		if !strings.Contains(string(data), `"`+name+`":`) {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestAChosenFlowStaysAPrior: a model's choice comes first among the flows that the hints allow, and others are none.
func TestAChosenFlowStaysAPrior(t *testing.T) {
	r := RankFlows(turn.Input{Text: "오늘 뉴스 알려줘"}, turn.Hints{HasFRGScope: true, HasClearConversationReplyShape: true}, registry.Default(), false)
	for id, want := range map[string]string{
		"DEF.DEF.default_conversation":         "DEF.DEF.default_conversation model DEF FRG",
		"FRG.FRG.public_recommendation":        "FRG.FRG.public_recommendation model FRG DEF",
		"ODL.ODL.device_execution_bridge":      "FRG.FRG.fresh_information_brief inline FRG DEF",
		"FRG.FRG.no_such_thing":                "FRG.FRG.fresh_information_brief inline FRG DEF",
		"":                                     "FRG.FRG.fresh_information_brief inline FRG DEF",
		"SCH.SCH.schedule_reminder_cancel":     "FRG.FRG.fresh_information_brief inline FRG DEF",
		"FRG.FRG.freshness_answer_composition": "FRG.FRG.freshness_answer_composition model FRG DEF",
	} {
		got := First(r, id, registry.Default())
		if text := strings.Join([]string{got.PrimaryFlow, got.By, string(got.Owner), string(got.Alternative)}, " "); text != want || len(got.TopFlows) < len(r.TopFlows) {
			t.Errorf("%q: %s, want %s", id, text, want)
		}
	}
}
