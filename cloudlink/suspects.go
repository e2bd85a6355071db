package cloudlink

import "time"

// Bounds of rows on which the broker closes. Source: docs/contract.md, section 1.
const (
	alonesFrom = 2         // closes in a row over the same row, from which on rows go one by one
	asideFrom  = 5         // closes in a row over one row that was alone on the line, after which it is set aside
	asideMax   = 64        // rows set aside; more than so many is the broker's fault, not theirs
	asideFor   = time.Hour // until it is tried again
)

// suspects finds the row on which the broker closes the connection again and again, so that it does not hold up those behind it. A row
// is suspected that was on the line without a PUBACK when the broker closed. It is in memory only: the row stays in the outbox.
type suspects struct {
	closes map[string]int       // in a row
	aside  map[string]time.Time // until when
}

func newSuspects() suspects { return suspects{closes: map[string]int{}, aside: map[string]time.Time{}} }

// closed notes that the broker closed with these rows on the line; it returns the row that is set aside for it, if there is one.
func (s *suspects) closed(ids []string, now time.Time, wait time.Duration) (aside string) {
	before := s.closes
	s.closes = map[string]int{}
	for _, id := range ids {
		s.closes[id] = before[id] + 1
	}
	for id, until := range s.aside {
		if !now.Before(until) {
			delete(s.aside, id)
		}
	}
	if len(ids) == 1 && s.closes[ids[0]] >= asideFrom && len(s.aside) < asideMax {
		aside = ids[0]
		delete(s.closes, aside)
		s.aside[aside] = now.Add(wait)
	}
	return aside
}

// handed clears a row: the broker has taken it.
func (s *suspects) handed(id string) { delete(s.closes, id) }

// careful says that rows go one by one, so that the broker shows on which one it closes.
func (s *suspects) careful() bool {
	for _, n := range s.closes {
		if n >= alonesFrom {
			return true
		}
	}
	return false
}

// waits says that a row is set aside.
func (s *suspects) waits(id string, now time.Time) bool {
	until, ok := s.aside[id]
	return ok && now.Before(until)
}

// suspect draws the conclusion from the end of a session: which rows the broker may not have liked.
func (l *Link) suspect(s *session, end ending) {
	if !end.online || end.reason != ReasonClosed && end.reason != ReasonWrite {
		return
	}
	var ids []string
	for id := range s.window.flying {
		if _, row := s.window.sent[id]; row {
			ids = append(ids, id)
		}
	}
	id := l.suspects.closed(ids, time.Now(), l.opt.paced(asideFor))
	if id == "" {
		return
	}
	l.set(func(st *State) { st.SetAside++ })
	l.opt.Log.Error().Str("id", id).Int("closes", asideFrom).Dur("again_in_ms", l.opt.paced(asideFor)).
		Msg("the broker closes on this message: it is set aside, those behind it go on")
}
