package home

import (
	"strings"
	"time"
	"unicode/utf8"
)

// speech is what the robot says at the moment.
type speech struct {
	task  *task
	timer *timer
	began bool
}

// minSpeech is the shortest utterance.
const minSpeech = 500 * time.Millisecond

func startSpeech(h *Home, t *task) string {
	words := strings.TrimSpace(text(t.params, "text"))
	switch {
	case words == "":
		return ReasonBadParams
	case h.speech != nil:
		return ReasonBusy
	}
	s := &speech{task: t}
	h.speech = s
	s.timer = h.after(h.opt.SettingTime, func() {
		s.began = true
		h.emit(fromSpeaker, "speech.started", t, "", utterance(t))
		length := max(time.Duration(utf8.RuneCountInString(words))*h.opt.RuneTime, minSpeech)
		s.timer = h.after(length, func() {
			h.write(Entry{Kind: KindSpoken, TaskID: t.id, Method: t.method, Text: words})
			h.speech = nil
			h.emit(fromSpeaker, "speech.finished", t, "", utterance(t))
			h.finish(t, Done, "", nil)
		})
	})
	return ""
}

// startShowText puts words on the screen in place of those that are there; an empty text takes them away.
func startShowText(h *Home, t *task) string {
	words, given := t.params["text"].(string)
	if !given {
		return ReasonBadParams
	}
	h.later(t, h.opt.SettingTime, func() {
		h.write(Entry{Kind: KindShown, TaskID: t.id, Method: t.method, Text: words})
		h.asked, _ = t.params["question_id"].(string)
		if words == "" {
			h.asked = ""
		}
		h.finish(t, Done, "", nil)
	})
	return ""
}

// utterance is what the caller said about its words, repeated with each event about them.
func utterance(t *task) map[string]any {
	data := map[string]any{}
	for _, key := range []string{"utterance_id", "session_id", "first", "last", "fresh"} {
		if v, given := t.params[key]; given {
			data[key] = v
		}
	}
	return data
}

func cancelSpeech(h *Home, t *task) { endSpeechOf(h, t, Cancelled, "") }

func endSpeechOf(h *Home, t *task, outcome, reason string) {
	if s := h.speech; s != nil && s.task == t {
		h.drop(s.timer)
		h.speech = nil
		h.emit(fromSpeaker, "speech.interrupted", t, reason, utterance(t))
	}
	h.finish(t, outcome, reason, nil)
}

func startStopSpeech(h *Home, t *task) string {
	h.write(Entry{Kind: KindStop, TaskID: t.id, Method: t.method})
	if h.speech != nil {
		endSpeechOf(h, h.speech.task, Cancelled, ReasonStopped)
	}
	h.later(t, h.opt.SettingTime, func() { h.finish(t, Done, "", nil) })
	return ""
}

func (h *Home) voiceState() string {
	switch {
	case h.voice != nil:
		return "listening"
	case h.speech != nil && h.speech.began:
		return "speaking"
	}
	return "idle"
}

func sessionOf(t *task) map[string]any {
	data := utterance(t)
	for key := range data {
		if key != "session_id" {
			delete(data, key)
		}
	}
	return data
}
