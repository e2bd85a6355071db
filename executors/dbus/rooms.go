package dbus

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	"deviceagent/taskmanager/core/catalog"
)

// roomsIn takes a word that says that the rooms are others. The order lock is held.
func (b *mapped) roomsIn(h heard) {
	r := b.spec.Service.Rooms
	if r == nil {
		return
	}
	for _, w := range r.Words() {
		if h.is(w, "", b.spec.Service) && b.match(h, w) {
			b.roomsAnew()
			return
		}
	}
}

// roomsAnew has the rooms read, once for all that is said while they are. The order lock is held.
func (b *mapped) roomsAnew() {
	if b.spec.Service.Rooms == nil || b.s.o.Rooms == nil {
		return
	}
	b.roomsDue = true
	if !b.roomsRead {
		b.roomsRead = b.s.spawn(b.readRooms)
	}
}

func (b *mapped) readRooms() {
	for b.roomsWanted() {
		rooms, err := b.rooms()
		if err != nil {
			b.complain(err, "rooms cannot be read: the last good ones stay", "rooms")
		} else if b.life.Err() == nil {
			b.s.o.Rooms(b.svc.ID, rooms)
		}
	}
}

func (b *mapped) roomsWanted() bool {
	b.order.Lock()
	defer b.order.Unlock()
	b.roomsRead = b.roomsDue && b.life.Err() == nil
	b.roomsDue = false
	return b.roomsRead
}

// rooms asks for the list. A row that cannot be read spoils it whole: half a map must not look like a home.
func (b *mapped) rooms() ([]catalog.Room, error) {
	r := b.spec.Service.Rooms
	ctx, cancel := context.WithTimeout(b.life, b.s.o.Limit)
	defer cancel()
	var s said
	var err error
	if r.Property != "" {
		s, err = b.get(ctx, r.DBusPlace, r.Property)
	} else {
		s.body, err = b.question(ctx, catalog.DBusCall{DBusPlace: r.DBusPlace, Method: r.Method}, given{})
	}
	if err != nil {
		return nil, err
	}
	raw, err := s.raw(r.Field)
	if err != nil {
		return nil, err
	}
	rows := reflect.ValueOf(raw)
	if rows.Kind() != reflect.Slice {
		return nil, fmt.Errorf("a value of type %T is no list of rooms", raw)
	}
	out := make([]catalog.Room, rows.Len())
	for i := range out {
		if out[i], err = roomOf(said{body: []any{rows.Index(i).Interface()}}, r); err != nil {
			return nil, fmt.Errorf("row %s: %w", strconv.Itoa(i), err)
		}
	}
	return out, nil
}

func roomOf(row said, r *catalog.DBusRooms) (catalog.Room, error) {
	at := func(place string, want catalog.Type) (any, error) {
		return row.value(catalog.DBusField{Field: "0." + place}, want, nil)
	}
	id, err := at(r.ID, catalog.String)
	if err != nil {
		return catalog.Room{}, err
	}
	name, err := at(r.Name, catalog.String)
	if err != nil {
		return catalog.Room{}, err
	}
	room := catalog.Room{ID: catalog.RoomID(id.(string)), Name: name.(string), Reachable: true}
	if r.Reachable != "" {
		v, err := at(r.Reachable, catalog.Boolean)
		if err != nil {
			return catalog.Room{}, err
		}
		room.Reachable = v.(bool)
	}
	if r.Aliases == "" {
		return room, nil
	}
	v, err := at(r.Aliases, "")
	if err != nil {
		return catalog.Room{}, err
	}
	list, ok := v.([]any)
	if !ok {
		return catalog.Room{}, fmt.Errorf("%s: is %.64v, and a list of texts is wanted", r.Aliases, v)
	}
	for _, one := range list {
		text, ok := one.(string)
		if !ok {
			return catalog.Room{}, fmt.Errorf("%s: is %.64v, and a list of texts is wanted", r.Aliases, v)
		}
		room.Aliases = append(room.Aliases, text)
	}
	return room, nil
}
