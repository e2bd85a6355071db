package dbus

import (
	"maps"
	"slices"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Mapping is what the catalog says of a service with an interface of its own.
type Mapping struct {
	Service    catalog.DBusService
	Operations map[catalog.Method]catalog.Operation
	Catalog    *catalog.Catalog // for the types of what is said
}

// ServicesOf finds the services that a catalog says are on D-Bus, with what they serve, by name. That all operations of a service name
// the same place, and that each mapping can be kept, the catalog's loader has checked.
func ServicesOf(c *catalog.Catalog) []Service {
	byID := map[core.ServiceID]Service{}
	for name, spec := range c.Services {
		id := core.ServiceID(name)
		byID[id] = Service{ID: id, Name: spec.Service, Path: godbus.ObjectPath(spec.Path), Keys: slices.Sorted(maps.Keys(spec.Context)),
			Map: &Mapping{Service: spec, Operations: map[catalog.Method]catalog.Operation{}, Catalog: c}}
	}
	for _, m := range slices.Sorted(maps.Keys(c.Operations)) {
		op := c.Operations[m]
		if op.Binding.Kind != "dbus" || op.Binding.DBus == nil {
			continue
		}
		id := core.ServiceID(op.Binding.Name)
		s := byID[id]
		s.ID, s.Methods = id, append(s.Methods, m)
		if d := op.Binding.DBus; d.Map != nil {
			s.Map.Operations[m] = op
		} else {
			s.Name, s.Path = d.Service, godbus.ObjectPath(d.Path)
			for _, key := range d.Keys {
				if !slices.Contains(s.Keys, key) {
					s.Keys = append(s.Keys, key)
				}
			}
		}
		byID[id] = s
	}
	var out []Service
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		out = append(out, byID[id])
	}
	return out
}
