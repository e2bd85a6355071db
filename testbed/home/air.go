package home

import "time"

// Grades of PM2.5, by the limits of the Korean forecast in µg/m³: good to 15, normal to 35, bad to 75.
func gradeOf(pm25 float64) string {
	switch {
	case pm25 <= 15:
		return "good"
	case pm25 <= 35:
		return "normal"
	case pm25 <= 75:
		return "bad"
	}
	return "very_bad"
}

// pm25 is the reading of the sensor in the robot, whole µg/m³, of the room where it stands.
func (h *Home) pm25() any {
	if h.faults.NoReading || h.unknown {
		return none{}
	}
	return h.dust[h.room].reported()
}

func (h *Home) grade() any {
	v, ok := h.pm25().(float64)
	if !ok {
		return none{}
	}
	return gradeOf(v)
}

// dustRate is how the dust of a room changes, µg/m³ an hour.
func (h *Home) dustRate(room string) int64 {
	if h.fanRuns() && room == h.room {
		return -airflows[h.cleaning.airflow]
	}
	if h.dust[room].value() >= h.dustLimit(room) {
		return 0
	}
	return h.opt.DustRise
}

func (h *Home) dustLimit(string) float64 { return h.opt.DustCeiling }

// startMeasure takes a reading of the air. A sensor without one still ends: with an event and an output that hold no value.
func startMeasure(h *Home, t *task) string {
	h.later(t, h.opt.MeasureTime, func() {
		reading := map[string]any{}
		if v, ok := h.pm25().(float64); ok {
			reading = map[string]any{"pm25": v, "grade": gradeOf(v)}
		}
		h.again("air.pm25")
		h.again("air.grade")
		h.emit(fromAir, "air.measured", t, "", reading)
		h.finish(t, Done, "", reading)
	})
	return ""
}

// SetAir sets the dust of a room, µg/m³, as if somebody had fried fish there.
func (h *Home) SetAir(now time.Duration, room string, pm25 float64) bool {
	h.to(now)
	r, ok := h.plan.Find(room)
	if ok {
		h.dust[r.ID].set(max(pm25, 0))
	}
	return ok
}
