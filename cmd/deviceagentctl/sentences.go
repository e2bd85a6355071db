package main

import (
	"slices"
	"strings"

	"deviceagent/agent/diag"
	"deviceagent/taskmanager/core"
)

// tongue is a language of sentences. States, codes, keys and headers are the same in all.
type tongue string

// sentences is the table: key → English, Korean. Every %s is filled in the same order in both.
var sentences = map[string][2]string{
	"try":                  {"try", "조치"},
	"why":                  {"%s is %s because", "%s 단계가 %s 상태인 이유"},
	"why.reason":           {"%s is %s (%s) because", "%s 단계가 %s (%s) 상태인 이유"},
	"why.done":             {"%s is %s: %d of %d steps have ended, and none of them failed", "%s 플랜은 %s 상태입니다. %[4]d단계 중 %[3]d단계가 끝났고 실패한 단계는 없습니다"},
	"dependency":           {"it waits for %s, which is %s", "%s 단계를 기다립니다 (지금 %s)"},
	"delay":                {"a planned delay runs", "계획된 지연이 진행 중입니다"},
	"resource":             {"%s is used by %s", "%s 자원을 %s 단계가 쓰고 있습니다"},
	"service":              {"service %s is %s", "%s 서비스가 %s 상태입니다"},
	"context":              {"a condition is being read, or does not hold", "조건을 확인하는 중이거나 조건이 맞지 않습니다"},
	"context.key":          {"it needs %s", "%s 값이 필요합니다"},
	"unknown.no":           {"unknown never counts as no", "모르는 값은 '아니오'로 치지 않습니다"},
	"answer":               {"the executor has been called", "실행기를 호출했습니다"},
	"answer.dispatch":      {"the call is out, the executor has not answered", "호출을 보냈고 실행기의 답이 아직 없습니다"},
	"answer.running":       {"the executor has accepted it and has not ended it", "실행기가 받아들였고 아직 끝내지 않았습니다"},
	"answer.verify":        {"the executor says done; that is a claim, not proof", "실행기는 끝났다고 합니다. 주장일 뿐 증거가 아닙니다"},
	"answer.unknown":       {"it was dispatched, and neither done nor not done is known", "보냈지만 되었는지 안 되었는지 모릅니다"},
	"stop":                 {"stop was called and nothing has confirmed it yet", "정지를 요청했고 아직 아무것도 확인해 주지 않았습니다"},
	"effect":               {"effect %s is %s", "효과 %s 상태: %s"},
	"event.no":             {"not received since the dispatch", "보낸 뒤로 받지 못함"},
	"event.yes":            {"received", "받음"},
	"event.against":        {"speaks against it", "반대되는 증거입니다"},
	"soon":                 {"it is about to be looked at", "곧 살펴봅니다"},
	"decision":             {"the cloud is asked what to do (question %s)", "어떻게 할지 클라우드에 물었습니다 (질문 %s)"},
	"due.asked":            {"in %s the default is taken, and it ends %s", "%s 뒤에는 기본 조치에 따라 %s 상태로 끝납니다"},
	"due.waiting":          {"in %s it is queued", "%s 뒤에 대기열에 들어갑니다"},
	"due.queued":           {"in %s it is dispatched although it is not known whether its effect holds already", "%s 뒤에는 효과가 이미 있는지 몰라도 보냅니다"},
	"due.dispatching":      {"in %s its outcome counts as unknown and the executor is asked", "%s 뒤에는 결과를 모르는 것으로 치고 실행기에 묻습니다"},
	"due.verifying":        {"in %s it ends timed_out (evidence_timeout)", "%s 뒤에는 timed_out (evidence_timeout)으로 끝납니다"},
	"due.running":          {"in %s it ends timed_out (step_timeout)", "%s 뒤에는 timed_out (step_timeout)으로 끝납니다"},
	"due":                  {"in %s it ends failed with this reason", "%s 뒤에는 이 이유로 failed로 끝납니다"},
	"end":                  {"it ended %s", "%s 상태로 끝났습니다"},
	"end.reason":           {"it ended %s (%s): %s", "%s (%s) 상태로 끝났습니다: %s"},
	"refused.faults":       {"refused: %d faults, nothing was changed", "거절: 잘못된 곳 %d군데, 아무것도 바뀌지 않았습니다"},
	"refused":              {"refused: %s", "거절: %s"},
	"valid":                {"%s: valid; %d steps, nothing was sent to work", "%s: 올바른 플랜입니다. %d단계, 실행에 넘기지 않았습니다"},
	"accepted":             {"accepted %s (%s)", "접수 %s (%s)"},
	"answered":             {"answered %s with %s (plan %s)", "%s 질문에 %s(으)로 답했습니다 (플랜 %s)"},
	"catalog.good":         {"%s: good, %s, etag %s", "%s: 문제없습니다. %s, etag %s"},
	"catalog.added":        {"%s: added, the catalog is good, %s, etag %s", "%s: 추가했습니다. 카탈로그에 문제가 없습니다. %s, etag %s"},
	"catalog.exported":     {"%s: written, %s, etag %s", "%s: 만들었습니다. %s, etag %s"},
	"cancel.accepted":      {"cancel accepted: %s is %s", "취소 접수: %s 상태는 %s"},
	"kill.accepted":        {"kill accepted: %s is %s", "강제 취소 접수: %s 상태는 %s"},
	"kill.all":             {"kill of everything accepted", "모든 작업의 강제 취소가 접수되었습니다"},
	"pause.accepted":       {"pause accepted, which is not paused: %s is %s", "멈춤 접수 (아직 멈춘 것은 아닙니다): %s 상태는 %s"},
	"pause.all":            {"pause of everything accepted, which is not paused", "모든 작업의 멈춤이 접수되었습니다 (아직 멈춘 것은 아닙니다)"},
	"resume.accepted":      {"resume accepted: %s is %s", "계속 접수: %s 상태는 %s"},
	"resume.all":           {"resume of everything accepted", "모든 작업의 계속이 접수되었습니다"},
	"held.by":              {"held by: %s", "멈춰 둔 쪽: %s"},
	"held.none":            {"held by: nobody", "멈춰 둔 쪽: 없음"},
	"hold":                 {"%s holds it", "%s 쪽이 멈춰 두었습니다"},
	"cancel.all":           {"cancel of everything accepted", "모든 작업의 취소가 접수되었습니다"},
	"mode.is":              {"the mode is %s", "모드: %s"},
	"tier.is":              {"the tier of plans with an experience is %s", "경험이 있는 계획의 등급: %s"},
	"cancel.stopping":      {"still being stopped: %s; watch until it is confirmed", "정지 중: %s. 확인될 때까지 지켜보세요"},
	"cancel.ask":           {"the robot is moving; cancel %s? [y/N] ", "로봇이 움직이고 있습니다. %s 취소할까요? [y/N] "},
	"watch.stopped":        {"stopped watching; the plan continues (deviceagentctl cancel %s --reason …)", "보기를 멈췄습니다. 플랜은 계속됩니다 (deviceagentctl cancel %s --reason …)"},
	"watch.all":            {"stopped watching; the work continues", "보기를 멈췄습니다. 작업은 계속됩니다"},
	"watch.end":            {"plan %s %s after %s", "플랜 %s %s (%s 만에)"},
	"watch.gap":            {"-- events %d-%d not available (%s) --", "-- 이벤트 %d-%d 없음 (%s) --"},
	"watch.lost":           {"-- link to the agent lost, trying again --", "-- 에이전트와 연결이 끊겨 다시 시도합니다 --"},
	"watch.back":           {"-- resumed at seq %d --", "-- seq %d부터 이어집니다 --"},
	"watch.restart":        {"-- agent restarted (cause: %s); resumed at seq %d --", "-- 에이전트 재시작 (원인: %s), seq %d부터 이어집니다 --"},
	"hidden":               {"%d shown; ended ones hidden (--all)", "%d건 표시, 끝난 것은 숨김 (--all)"},
	"shown":                {"%d shown", "%d건 표시"},
	"provisioned":          {"provisioned %s at %s: certificate by %s, until %s", "프로비저닝 완료: %s (%s), 인증서 발급자 %s, 만료 %s"},
	"provision.next":       {"%s waits for its certificate: have the request signed, then deviceagentctl provision --certificate FILE", "%s 인증서를 기다립니다. 요청에 서명을 받은 뒤 deviceagentctl provision --certificate FILE"},
	"provision.restart":    {"the settings are read at the start: systemctl restart deviceagent", "설정은 시작할 때 읽습니다: systemctl restart deviceagent"},
	"provision.renewed":    {"the agent shows it at its next connection; nothing has to be restarted", "에이전트가 다음 연결부터 씁니다. 다시 시작할 필요가 없습니다"},
	"provision.trusted":    {"the agent believes these keys from the next message on", "에이전트가 다음 메시지부터 이 키들을 믿습니다"},
	"provision.overridden": {"what was provisioned does not count, since a file that counts more says %s", "더 우선하는 파일이 있어 프로비저닝한 값이 쓰이지 않습니다: %s"},
	"bundle.person":        {"this bundle HAS what people said and what was measured of them: treat it so", "이 번들에는 사람들의 발화와 측정값이 들어 있습니다. 그에 맞게 다루십시오"},
	"erase.ask":            {"erase what is kept of people on %s? [y/N] ", "%s 로봇에 남아 있는 개인 정보를 지울까요? [y/N] "},
	"erase.done":           {"erased: %d ended plans with what was said and measured, %d lines of the journal", "지움: 끝난 플랜 %d개와 그 발화 및 측정값, 저널 %d줄"},
	"erase.left":           {"these are open and keep what they need; cancel them first: %s", "열려 있어 필요한 것을 남겨 둔 것(먼저 취소): %s"},
	"reset.ask":            {"remove all work, utterances, preferences and keys of %s? [y/N] ", "%s 로봇의 작업, 발화, 환경설정, 키를 모두 지울까요? [y/N] "},
	"reset.accepted":       {"factory reset accepted: %s stops what moves, ends, and wipes when it starts", "공장 초기화 접수: %s 로봇이 움직임을 멈추고 종료한 뒤 다시 시작할 때 지웁니다"},
	"reset.done":           {"factory reset done: %s, %d things removed; a new store begins with the next start", "공장 초기화 완료: %s, %d개를 지웠습니다. 다음 시작 때 새 저장소가 만들어집니다"},
	"reset.left":           {"left, since the agent does not know it: %s", "에이전트가 모르는 것이라 남겨 두었습니다: %s"},
	"trace.none":           {"%s has no goal: nothing was traced", "%s 플랜에는 목표가 없어 남긴 추적 기록이 없습니다"},
	"trace.earlier":        {"-- %d earlier entries not shown (--tail) --", "-- 앞의 %d건 표시 안 함 (--tail) --"},
	"trace.missing":        {"-- %d entries missing: a full trace keeps its beginning and its end --", "-- %d건 없음: 가득 찬 추적은 처음과 끝만 남깁니다 --"},
	"trace.effect":         {"effect %s", "효과 %s"},
	"trace.reason":         {"reason %s", "이유 %s"},
	"trace.seen":           {"by %s", "%s 관측"},
	"trace.basis":          {"basis %s", "근거 %s"},
	"trace.refused":        {"gate refused: %s", "게이트 거절: %s"},
	"trace.left":           {"left: %s", "남은 것: %s"},
	"trace.by":             {"model %s", "모델 %s"},
	"trace.model":          {"model calls: %d  tokens in %s, out %s  latency %s", "모델 호출: %d회  입력 토큰 %s, 출력 토큰 %s  지연 %s"},
	"none.open":            {"no open plan; ended ones hidden (--all)", "열린 플랜이 없습니다. 끝난 것은 숨김 (--all)"},
}

// say writes a sentence.
func (l tongue) say(key string, args ...any) string {
	s, ok := sentences[key]
	if !ok {
		panic("internal error: no sentence " + key)
	}
	if l == "ko" {
		return sprintf(s[1], args...)
	}
	return sprintf(s[0], args...)
}

// title says what is wrong.
func (l tongue) title(p *diag.Problem) string {
	if p.Answer != nil && len(p.Errors) > 0 && p.Exit == diag.ExitUsage {
		return l.say("refused.faults", len(p.Errors))
	}
	if l == "ko" {
		if ko, ok := koreanCodes[diag.Code(p.Code)]; ok && p.Answer == nil {
			return ko
		}
		if ko, ok := koreanReasons[core.Reason(p.Code)]; ok {
			return l.say("refused", ko)
		}
	}
	return p.Title
}

// reason says what a reason code means.
func (l tongue) reason(code string) string {
	if ko, ok := koreanReasons[core.Reason(code)]; ok && l == "ko" {
		return ko
	}
	return core.InfoOf(core.Reason(code)).Text
}

// fact writes one reason why a step is where it is. In English the agent's own sentence stands where it says more.
func (l tongue) fact(f diag.Fact, state, reason string) string {
	switch f.Kind {
	case "dependency":
		return l.own(f, "dependency", f.Ref, f.RefState)
	case "decision":
		return l.own(f, f.Kind, f.Ref)
	case "delay":
		return l.own(f, f.Kind)
	case "stop":
		return l.own(f, f.Kind)
	case "hold":
		return l.own(f, f.Kind, f.Ref)
	case "resource", "service":
		return l.say(f.Kind, f.Ref, f.RefState)
	case "context":
		if f.RefKind == "key" {
			return l.say("context.key", f.Ref)
		}
		return l.own(f, "context")
	case "answer":
		return l.say(answers[state])
	case "evidence":
		return l.evidence(f)
	case "time":
		return l.due(f, state)
	case "end":
		if reason != "" {
			return l.say("end.reason", state, reason, l.reason(reason))
		}
		return l.say("end", state)
	}
	return clean(f.Text)
}

var answers = map[string]string{"": "answer", "dispatching": "answer.dispatch", "running": "answer.running", "verifying": "answer.verify", "outcome_unknown": "answer.unknown"}

func (l tongue) own(f diag.Fact, key string, args ...any) string {
	if l == "ko" {
		return l.say(key, args...)
	}
	return clean(f.Text)
}

func (l tongue) evidence(f diag.Fact) string {
	switch f.RefKind {
	case "effect":
		return l.say("effect", f.Ref, f.RefState)
	case "event":
		if f.RefState == "received" {
			return l.say("event.yes")
		}
		if f.RefState == "against" {
			return l.say("event.against")
		}
		return l.say("event.no")
	}
	return clean(f.Text)
}

func (l tongue) due(f diag.Fact, state string) string {
	if f.LeftMS == nil {
		return l.say("soon")
	}
	if f.Ref != "" {
		return l.say("due.asked", duration(*f.LeftMS), f.Ref)
	}
	key := "due." + state
	if _, ok := sentences[key]; !ok {
		key = "due"
	}
	return l.say(key, duration(*f.LeftMS))
}

// awaited names in a few words what a plan waits for: the whole answer is why.
func awaited(facts []diag.Fact) string {
	var out []string
	add := func(text string) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, f := range facts {
		switch {
		case f.Kind == "evidence" && f.RefKind == "effect" || f.RefState == "received" || f.Kind == "time" || f.Kind == "end":
		case f.Kind == "answer" && f.RefState == "ended": // it has said its word; proof is what is missing
		case f.Kind == "evidence" || f.RefKind == "key":
			add(f.Ref)
		case f.Kind == "resource":
			add(f.RefState + " holds " + f.Ref)
		case f.Kind == "dependency":
			add("after " + f.Ref)
		case f.Kind == "service":
			add("service " + f.Ref)
		case f.Kind == "answer":
			add("executor")
		default:
			add(f.Kind)
		}
	}
	if len(out) > 3 {
		out = append(out[:3], "…")
	}
	return orText(strings.Join(out, ", "), "-")
}
