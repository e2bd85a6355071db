package home

import (
	"slices"
	"strings"
	"time"
)

// buttons says what each button does. The buttons of the screen (cancel, pause, resume, takeover, release) only report: whoever
// plans the work stops it. The red stop button cuts the power of wheels and fan itself. The last three start and stop work that
// nobody's plan knows of.
var buttons = map[string]func(*Home){
	"cancel":     reports("pui.cancelled"),
	"pause":      reports("pui.paused"),
	"resume":     reports("pui.resumed"),
	"takeover":   reports("pui.takeover"),
	"release":    reports("pui.released"),
	"stop":       func(h *Home) { h.safetyStop("stop_button") },
	"unstop":     (*Home).safetyRelease,
	"clean":      (*Home).ownClean,
	"clean_stop": (*Home).ownCleanStop,
	"home":       func(h *Home) { h.ownDrive(h.plan.Dock) },
}

// Buttons names the buttons, sorted.
func Buttons() []string { return sortedKeys(buttons) }

func reports(event string) func(*Home) {
	return func(h *Home) { h.emit(fromButtons, event, nil, "", nil) }
}

// Press is a person pressing a button of [Buttons]. False: the robot has no such button.
func (h *Home) Press(now time.Duration, button string) bool {
	h.to(now)
	press, ok := buttons[button]
	if ok {
		h.write(Entry{Kind: KindButton, Text: button, Room: h.room})
		press(h)
	}
	return ok
}

func (h *Home) ownClean() {
	if h.bodyHeld() == "" {
		h.clean(&cleaning{mode: "fixed", airflow: "auto", total: ownMinutes * 60_000})
	}
}

// ownCleanStop stops the fan, also that of a task: for the task that is a stop from outside.
func (h *Home) ownCleanStop() {
	c := h.cleaning
	if c == nil {
		return
	}
	byTask := c.task != nil
	h.stopFan(ReasonExternalStop)
	if byTask {
		h.emit(fromCleaner, "external_stop", nil, "", map[string]any{"code": "own_button"})
	}
}

func (h *Home) ownDrive(room string) {
	if h.bodyHeld() == "" {
		h.drive(nil, room, room == h.plan.Dock)
	}
}

// MoveByHand is a person pushing the robot to another room. A motion that runs ends at the first touch.
func (h *Home) MoveByHand(now time.Duration, room string) bool {
	h.to(now)
	r, ok := h.plan.Find(room)
	if !ok || h.hand != nil || h.lifted {
		return false
	}
	h.write(Entry{Kind: KindPush, Room: r.ID, Text: "from " + h.room})
	h.emit(fromBase, "external_start", nil, "moved_by_hand", map[string]any{"code": "moved_by_hand"})
	if h.motion != nil {
		h.rest(Failed, ReasonExternalStop)
	}
	h.undock(nil)
	h.hand = h.after(h.opt.PushTime, func() {
		h.endHand()
		h.room, h.docked = r.ID, r.ID == h.plan.Dock
		h.again("movement.location")
		if h.docked {
			h.emit(fromStation, "station.docked", nil, "", nil)
		}
		h.emit(fromBase, "external_stop", nil, "moved_by_hand", map[string]any{"code": "moved_by_hand"})
	})
	return true
}

func (h *Home) endHand() {
	h.drop(h.hand)
	h.hand = nil
}

// stopWords are what the robot's own voice service understands without any link.
var stopWords = []string{"멈춰", "그만", "정지", "스톱", "stop"}

// voiceOpen is how long the robot listens after the last word.
const voiceOpen = 8 * time.Second

// Say is a person speaking to the robot. Words over its own speech interrupt that; a stop word is reported as a user's stop, in
// the same way as the button, by the robot's own service.
func (h *Home) Say(now time.Duration, words string) {
	h.to(now)
	h.write(Entry{Kind: KindHeard, Text: words, Room: h.room})
	if h.speech != nil && h.speech.began {
		h.emit(fromVoice, "voice.interrupted", nil, "", sessionOf(h.speech.task))
	}
	h.drop(h.voice)
	h.voice = h.after(voiceOpen, func() {
		h.voice = nil
		h.emit(fromVoice, "voice.session_ended", nil, "", nil)
	})
	folded := strings.ToLower(strings.Trim(words, " .!"))
	if slices.Contains(stopWords, folded) {
		h.emit(fromVoice, "pui.cancelled", nil, "voice", nil)
	}
}

// Answer is a person answering a question on the robot, by its words or by the id of an option: the one on the screen, or else the one
// that was heard.
func (h *Home) Answer(now time.Duration, answer string) {
	h.to(now)
	h.write(Entry{Kind: KindHeard, Text: answer})
	data := map[string]any{"answer": answer}
	if h.asked != "" {
		data["question_id"] = h.asked
	}
	h.emit(fromPeople, "user.answered", nil, "", data)
}

// Consent is a person granting, denying or revoking a consent on the robot: verb is granted, denied or revoked.
func (h *Home) Consent(now time.Duration, consent, verb string) bool {
	h.to(now)
	if !slices.Contains([]string{"granted", "denied", "revoked"}, verb) {
		return false
	}
	h.write(Entry{Kind: KindHeard, Text: verb + " " + consent})
	h.emit(fromPeople, "consent."+verb, nil, "", map[string]any{"consent": consent})
	return true
}
