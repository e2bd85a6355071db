package home

import (
	"math"
	"slices"
	"strings"
)

// Room is a place on the floor plan. X and Y are the metres of its middle. A room that no path leads to cannot be reached.
type Room struct {
	ID      string
	Name    string
	Aliases []string
	X, Y    float64
}

// Path is a way between the middles of two rooms, through the door half way.
type Path struct{ From, To string }

// FloorPlan is the home without the robot. Dock is the place of the station; it is on the plan, but it is no room that one asks
// for by name.
type FloorPlan struct {
	Rooms []Room
	Paths []Path
	Dock  string
}

// Flat is the home that the scenarios use, with the rooms of the shipped catalog: the living room in the middle, most doors open
// onto it; the study is behind the kitchen, the dressing room behind the bedroom. No way leads to the balcony.
func Flat() FloorPlan {
	return FloorPlan{
		Rooms: []Room{
			{ID: "living_room", Name: "거실", Aliases: []string{"living room"}, X: 0, Y: 0},
			{ID: "kitchen", Name: "주방", Aliases: []string{"부엌"}, X: 5, Y: 0},
			{ID: "master_bedroom", Name: "안방", Aliases: []string{"침실", "master bedroom"}, X: -5, Y: 2},
			{ID: "kids_room", Name: "아이 방", Aliases: []string{"아이들 방", "kids room"}, X: -3, Y: 5},
			{ID: "study", Name: "서재", X: 7, Y: 4},
			{ID: "dressing_room", Name: "옷방", X: -8, Y: 4},
			{ID: "entrance", Name: "현관", X: 0, Y: -5},
			{ID: "space_1", Name: "공간1", Aliases: []string{"space 1"}, X: 2, Y: 5},
			{ID: "space_2", Name: "공간2", Aliases: []string{"space 2"}, X: 5, Y: 6},
			{ID: "balcony", Name: "베란다", Aliases: []string{"발코니"}, X: 9, Y: 9},
			{ID: "dock", Name: "스테이션", Aliases: []string{"station"}, X: 1, Y: -2},
		},
		Paths: []Path{
			{"living_room", "kitchen"}, {"living_room", "master_bedroom"}, {"living_room", "kids_room"},
			{"living_room", "entrance"}, {"living_room", "space_1"}, {"space_1", "space_2"}, {"kitchen", "study"},
			{"master_bedroom", "dressing_room"}, {"living_room", "dock"},
		},
		Dock: "dock",
	}
}

func (p FloorPlan) mustHold() {
	if _, ok := p.place(p.Dock); !ok {
		panic("internal error: the dock " + p.Dock + " is not on the floor plan")
	}
	for _, path := range p.Paths {
		for _, id := range []string{path.From, path.To} {
			if _, ok := p.place(id); !ok {
				panic("internal error: a path leads to " + id + ", which is not on the floor plan")
			}
		}
	}
}

func (p FloorPlan) place(id string) (Room, bool) {
	i := slices.IndexFunc(p.Rooms, func(r Room) bool { return r.ID == id })
	if i < 0 {
		return Room{}, false
	}
	return p.Rooms[i], true
}

// Find resolves a place by id, name or alias; case and spaces at the ends do not count.
func (p FloorPlan) Find(text string) (Room, bool) {
	text = strings.TrimSpace(text)
	i := slices.IndexFunc(p.Rooms, func(r Room) bool {
		return strings.EqualFold(r.ID, text) || r.Name == text ||
			slices.ContainsFunc(r.Aliases, func(a string) bool { return strings.EqualFold(a, text) })
	})
	if i < 0 {
		return Room{}, false
	}
	return p.Rooms[i], true
}

// Route is the shortest way, both ends included; nil where there is none.
func (p FloorPlan) Route(from, to string) []string {
	dist, prev := map[string]float64{from: 0}, map[string]string{}
	done := map[string]bool{}
	for {
		cur, ok := nearest(p, dist, done)
		if !ok {
			return nil
		}
		if cur == to {
			break
		}
		done[cur] = true
		for _, next := range p.neighbours(cur) {
			d := dist[cur] + p.metres(cur, next)
			if old, seen := dist[next]; !seen || d < old {
				dist[next], prev[next] = d, cur
			}
		}
	}
	way := []string{to}
	for way[0] != from {
		way = slices.Insert(way, 0, prev[way[0]])
	}
	return way
}

// nearest picks the open place with the smallest distance, in the plan's order, so that ties always fall the same way.
func nearest(p FloorPlan, dist map[string]float64, done map[string]bool) (string, bool) {
	best, found := "", false
	for _, r := range p.Rooms {
		d, seen := dist[r.ID]
		if seen && !done[r.ID] && (!found || d < dist[best]) {
			best, found = r.ID, true
		}
	}
	return best, found
}

func (p FloorPlan) neighbours(id string) []string {
	var out []string
	for _, path := range p.Paths {
		switch id {
		case path.From:
			out = append(out, path.To)
		case path.To:
			out = append(out, path.From)
		}
	}
	return out
}

func (p FloorPlan) metres(a, b string) float64 {
	from, _ := p.place(a)
	to, _ := p.place(b)
	return math.Hypot(from.X-to.X, from.Y-to.Y)
}

// tour is the rooms that a whole-home cleaning visits from a room: that room first, then all others that can be reached.
func (p FloorPlan) tour(from string) []string {
	rooms := []string{from}
	for _, r := range p.Rooms {
		if r.ID != from && r.ID != p.Dock && p.Route(from, r.ID) != nil {
			rooms = append(rooms, r.ID)
		}
	}
	return rooms
}
