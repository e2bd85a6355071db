package catalog

import (
	"maps"
	"slices"
	"strings"
)

// dbus checks where a service is said to be, and that all its operations say the same.
func (k *checker) dbus(op Operation) {
	d := op.Binding.DBus
	switch {
	case op.Binding.Kind != "dbus" && d == nil:
		return
	case op.Binding.Kind != "dbus":
		k.add("executor.dbus", "is for kind dbus, and this is kind %s", op.Binding.Kind)
		return
	case d == nil:
		k.add("executor.dbus", "is missing; it says where the service is on the bus")
		return
	case d.Map != nil:
		k.mapped(op, d)
		return
	}
	if _, ok := k.c.Services[op.Binding.Name]; ok {
		k.add("executor.dbus.map", "is missing; %s is in the section services, for services with an interface of their own", op.Binding.Name)
		return
	}
	if !isBusName(d.Service) {
		k.add("executor.dbus.service", "%q is no well-known name; those look like com.example.Mover", d.Service)
	}
	if !isObjectPath(d.Path) {
		k.add("executor.dbus.path", "%q is no object path; those look like /com/example/Mover", d.Path)
	}
	known(k, "executor.dbus.keys", k.c.Context, d.Keys...)
	for _, m := range slices.Sorted(maps.Keys(k.c.Operations)) {
		o := k.c.Operations[m].Binding
		if m != op.Method && o.Kind == "dbus" && o.Name == op.Binding.Name && o.DBus != nil && o.DBus.Map == nil && (o.DBus.Service != d.Service || o.DBus.Path != d.Path) {
			k.add("executor.dbus", "%s says of the same service %s that it is %s at %s", m, o.Name, o.DBus.Service, o.DBus.Path)
			return
		}
	}
}

// isBusName: at least two parts of letters, digits, _ and -, none beginning with a digit; at most 255 bytes.
func isBusName(name string) bool {
	parts := strings.Split(name, ".")
	return len(parts) >= 2 && len(name) <= 255 && !slices.ContainsFunc(parts, func(p string) bool {
		return p == "" || p[0] >= '0' && p[0] <= '9' || strings.ContainsFunc(p, func(r rune) bool { return !wordRune(r) && r != '-' })
	})
}

func isObjectPath(path string) bool {
	if path == "/" {
		return true
	}
	rest, ok := strings.CutPrefix(path, "/")
	return ok && !slices.ContainsFunc(strings.Split(rest, "/"), func(p string) bool {
		return p == "" || strings.ContainsFunc(p, func(r rune) bool { return !wordRune(r) })
	})
}

func wordRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}
