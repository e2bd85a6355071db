package home

// What a robot has brought about may come undone without anybody's doing: a setting springs back, a fan starts again, wheels creep.
// Nobody reports that as a wish; only sensors and managers see it.

// creepMS is how long wheels creep, aloneMS how long a fan runs by itself.
const (
	creepMS = 10_000
	aloneMS = 60_000
)

// undoRest: wheels that rested creep on in the same room, off the contacts of the station where they stood there.
func undoRest(h *Home) func() {
	return func() {
		if h.motion == nil && h.hand == nil {
			h.set(&motion{method: "by_itself", room: h.room, legs: []leg{{creepMS, h.room}}})
		}
	}
}

func undoStill(h *Home) func() {
	return func() {
		if h.cleaning == nil {
			h.clean(&cleaning{itself: true, mode: "fixed", airflow: "auto", total: aloneMS})
		}
	}
}

func undoScreen(h *Home) func() {
	before := h.screen
	return func() { h.setScreen(nil, before) }
}

func undoSound(h *Home) func() {
	before := h.sound
	return func() { h.setSound(nil, before) }
}

func undoNight(h *Home) func() {
	was, screen, sound := h.night, undoScreen(h), undoSound(h)
	return func() {
		screen()
		sound()
		h.night = was
		h.modeSaid(nil, "night", was.on)
	}
}

func undoManner(h *Home) func() {
	was, sound := h.manner, undoSound(h)
	return func() {
		sound()
		h.manner = was
		h.modeSaid(nil, "manner", was.on)
	}
}
