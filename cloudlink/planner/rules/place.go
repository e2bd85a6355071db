package rules

import (
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core/catalog"
)

// takeRooms gives the rooms of a clause their part: the destination of a move, the place of an operation that is done at a place,
// the origin ("거실에서 주방으로"), or what was excluded ("거실 말고").
func (g *grounding) takeRooms(in *intent, _ action, op catalog.Operation) *doubt {
	wanted := g.rooms(in.frame.RoomParam != "")
	switch {
	case in.frame.RoomParam == "" && len(wanted) == 0:
		return nil
	case len(wanted) == 0:
		return g.noRoom(in)
	case in.frame.RoomParam == "" && op.ReadOnly && in.frame.ID != "" && !in.frame.Place && !g.lookThere(wanted):
		return g.elsewhere(wanted)
	case in.frame.RoomParam == "" && op.ReadOnly && g.at != "" && g.at == g.p.nameOf(wanted[0]):
		return nil
	case in.frame.RoomParam == "" && op.ReadOnly && g.lookThere(wanted):
	case in.frame.RoomParam == "" && (!in.frame.Place || in.method != in.frame.Method):
		return &doubt{reason: doubtCannotAtRoom}
	}
	if len(wanted) > 1 {
		return &doubt{reason: doubtAmbiguous, slot: "position", options: g.p.names(mergeKeys(wanted[0].keys, wanted[1].keys))}
	}
	r, d := g.one(wanted[0])
	if d != nil {
		return d
	}
	in.room, in.said = r.name, r.name
	if g.p.lang == english {
		in.said = wanted[0].text
	}
	if in.frame.RoomParam != "" {
		in.params[in.frame.RoomParam] = wire.Value{V: r.name}
	}
	return nil
}

// rooms are the rooms of the clause that are meant; it marks them as used. goes: the clause is about a move.
func (g *grounding) rooms(goes bool) []item {
	var out []item
	hasTo := slices.ContainsFunc(g.clause.items, func(it item) bool { return it.kind == kindRoom && it.role == "to" })
	for i, it := range g.clause.items {
		if it.kind == kindExclude {
			g.used[i] = true
		}
		if it.kind != kindRoom {
			continue
		}
		g.used[i] = true
		excluded := i+1 < len(g.clause.items) && g.clause.items[i+1].kind == kindExclude
		origin := it.role == "at" && (hasTo || goes) // "거실에서 나가" leaves it
		if !excluded && !origin {
			out = append(out, it)
		}
	}
	return out
}

// one finds the single room that a name means, and that the robot can reach.
func (g *grounding) one(it item) (room, *doubt) {
	if len(it.keys) != 1 {
		return room{}, &doubt{reason: doubtAmbiguous, slot: "position", room: it.text, options: g.p.names(it.keys)}
	}
	r := g.p.rooms[it.keys[0]]
	if !r.reachable {
		return room{}, &doubt{reason: doubtUnreachable, slot: "position", room: r.in(g.p.lang), options: g.p.names(nil)}
	}
	return r, nil
}

// noRoom asks where to go. An unknown word with a direction is taken for the name of a room that the robot does not know.
func (g *grounding) noRoom(in *intent) *doubt {
	name, unknown := "", 0
	for i, it := range g.clause.items {
		switch it.kind {
		case kindUnknown:
			unknown++
			if it.role == "to" || it.role == "in" || it.role == "until" {
				name, g.used[i] = it.text, true
			}
		case kindHome, kindHere, kindDeictic:
			g.used[i] = true
		}
	}
	if unknown > 1 || unknown == 1 && name == "" {
		return &doubt{reason: doubtUnknownWord}
	}
	return &doubt{reason: doubtRoom, slot: in.frame.RoomParam, room: name, options: g.p.names(nil)}
}

// lookThere: "아이 방 공기 확인하고 나쁘면 청정해" sends the robot there, as what hangs on it would be done there. A question never does.
func (g *grounding) lookThere(wanted []item) bool {
	return (g.judged || g.manages()) && g.clause.mood == moodRequest && len(wanted) == 1
}

// manages says whether the clause leaves to the robot what is to be done about what it measures.
func (g *grounding) manages() bool {
	return slices.ContainsFunc(g.clause.items, func(it item) bool { return (it.kind == kindVerb || it.kind == kindActNoun) && it.key == "manage" })
}

// nameOf is the name of the one room that a word means; empty: it is not one.
func (p *reader) nameOf(it item) string {
	if len(it.keys) != 1 {
		return ""
	}
	return p.rooms[it.keys[0]].name
}

// elsewhere refuses a reading of another room: the robot measures where it stands, and a question never makes it move.
func (g *grounding) elsewhere(wanted []item) *doubt {
	r, d := g.one(wanted[0])
	if d != nil {
		return d
	}
	if g.at == r.name {
		return nil
	}
	return &doubt{reason: doubtElsewhere, slot: "position", room: r.in(g.p.lang)}
}

// in is the name of a room in a language: for English its first name in Latin letters.
func (r room) in(lang language) string {
	if lang == english {
		for _, name := range r.names {
			if isEnglish(name, "") {
				return name
			}
		}
	}
	return r.name
}

// names lists the rooms by their own names: those of the ids, or all that can be reached.
func (p *reader) names(ids []string) []string {
	var out []string
	for _, id := range p.order {
		r := p.rooms[id]
		if ids == nil && r.reachable || slices.Contains(ids, id) {
			out = append(out, r.in(p.lang))
		}
	}
	return out
}

// spread makes one clause of each room of "거실이랑 안방 청정해 줘", in the order said.
func spread(c clause) []clause {
	var rooms []int
	for i, it := range c.items {
		excluded := i+1 < len(c.items) && c.items[i+1].kind == kindExclude
		if it.kind == kindRoom && !excluded && it.role != "at" {
			rooms = append(rooms, i)
		}
	}
	if len(rooms) < 2 {
		return []clause{c}
	}
	for n, i := range rooms[:len(rooms)-1] {
		if rooms[n+1] != i+1 || c.items[i].role != "and" {
			return []clause{c}
		}
	}
	var out []clause
	for n, keep := range rooms {
		part := c
		part.items = nil
		for i, it := range c.items {
			if !slices.Contains(rooms, i) || i == keep {
				part.items = append(part.items, it)
			}
		}
		if n < len(rooms)-1 {
			part.link = "seq"
		}
		if n > 0 {
			part.items = slices.DeleteFunc(part.items, func(it item) bool { return it.kind == kindDelay })
		}
		out = append(out, part)
	}
	return out
}
