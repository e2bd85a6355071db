package home

import "time"

type screen struct {
	on         bool
	brightness float64
}

// shown is the brightness that an eye sees: 0 while the screen is off.
func (s screen) shown() float64 {
	if !s.on {
		return 0
	}
	return s.brightness
}

type sound struct {
	volume float64
	muted  bool
}

// mode is the night or the manner mode. It remembers what it changed, to bring that back.
type mode struct {
	on     bool
	screen screen
	sound  sound
}

// The manners of the two modes: night dims the screen and lowers the sound, manner mutes.
const (
	nightBrightness = 10
	nightVolume     = 15
)

// set carries a setting out after its time and says that the task is done.
func (h *Home) setting(t *task, change func()) string {
	h.later(t, h.opt.SettingTime, func() {
		change()
		h.write(Entry{Kind: KindSetting, TaskID: t.id, Method: t.method, Params: t.params})
		h.finish(t, Done, "", nil)
	})
	return ""
}

func startScreen(h *Home, t *task) string {
	on, onGiven := flag(t.params, "on")
	brightness, ok := within(t.params, "brightness", 0, 100, h.screen.brightness)
	if _, given := number(t.params, "brightness"); !ok || !given && !onGiven || noFlag(t.params, "on") {
		return ReasonBadParams
	}
	return h.setting(t, func() {
		s := screen{on: on || !onGiven, brightness: brightness}
		h.setScreen(t, s)
	})
}

func (h *Home) setScreen(t *task, s screen) {
	h.screen = s
	h.again("display.brightness")
	h.emit(fromScreen, "display.changed", t, "", map[string]any{"on": s.on, "brightness": s.brightness})
}

func startVolume(h *Home, t *task) string {
	mute, muteGiven := flag(t.params, "mute")
	_, levelGiven := number(t.params, "level")
	level, ok := within(t.params, "level", 0, 100, h.sound.volume)
	if !ok || !levelGiven && !muteGiven || noFlag(t.params, "mute") {
		return ReasonBadParams
	}
	return h.setting(t, func() {
		s := sound{volume: h.sound.volume, muted: h.sound.muted}
		if levelGiven {
			s.volume = level
		}
		if muteGiven {
			s.muted = mute
		}
		h.setSound(t, s)
	})
}

func (h *Home) setSound(t *task, s sound) {
	h.sound = s
	h.again("sound.volume")
	h.again("sound.muted")
	h.emit(fromSound, "sound.changed", t, "", map[string]any{"level": s.volume, "muted": s.muted})
}

func startNight(h *Home, t *task) string {
	on, given := flag(t.params, "on")
	if !given {
		return ReasonBadParams
	}
	return h.setting(t, func() { h.turnNight(t, on) })
}

func (h *Home) turnNight(t *task, on bool) {
	if on != h.night.on {
		before := mode{on: on, screen: h.screen, sound: h.sound}
		if on {
			h.setScreen(t, screen{on: h.screen.on, brightness: min(h.screen.brightness, nightBrightness)})
			h.setSound(t, sound{volume: min(h.sound.volume, nightVolume), muted: h.sound.muted})
		} else {
			h.setScreen(t, h.night.screen)
			h.setSound(t, h.night.sound)
		}
		h.night = before
	}
	h.modeSaid(t, "night", on)
}

func startManner(h *Home, t *task) string {
	on, given := flag(t.params, "on")
	if !given {
		return ReasonBadParams
	}
	return h.setting(t, func() { h.turnManner(t, on) })
}

func (h *Home) turnManner(t *task, on bool) {
	if on != h.manner.on {
		before := mode{on: on, sound: h.sound}
		muted := on || h.manner.sound.muted
		h.setSound(t, sound{volume: h.sound.volume, muted: muted})
		h.manner = before
	}
	h.modeSaid(t, "manner", on)
}

// switches are what a person can turn on and off in the robot's own menu.
var switches = map[string]func(h *Home, on bool){
	"screen": func(h *Home, on bool) { h.setScreen(nil, screen{on: on, brightness: h.screen.brightness}) },
	"mute":   func(h *Home, on bool) { h.setSound(nil, sound{volume: h.sound.volume, muted: on}) },
	"night":  func(h *Home, on bool) { h.turnNight(nil, on) },
	"manner": func(h *Home, on bool) { h.turnManner(nil, on) },
	"quiet":  func(h *Home, on bool) { h.quiet = on },
}

// Turn is a person turning screen, mute, night, manner or quiet hours on or off in the robot's own menu. False: there is no such thing.
func (h *Home) Turn(now time.Duration, what string, on bool) bool {
	h.to(now)
	turn, ok := switches[what]
	if ok {
		h.write(Entry{Kind: KindButton, Text: what, Data: map[string]any{"on": on}, Room: h.room})
		turn(h, on)
	}
	return ok
}

func (h *Home) modeSaid(t *task, name string, on bool) {
	h.again("mode." + name)
	h.emit(fromModes, "mode.changed", t, "", map[string]any{"mode": name, "on": on})
}
