package catalog

import (
	"maps"
	"slices"
	"strings"
)

// socket checks the bounds of a service of the executor socket, and that all operations which say any say the same.
func (k *checker) socket(op Operation) {
	s := op.Binding.Socket
	switch {
	case s == nil:
		return
	case op.Binding.Kind != "socket":
		k.add("executor.socket", "is for kind socket, and this is kind %s", op.Binding.Kind)
		return
	}
	k.account("executor.socket.user", s.User)
	k.account("executor.socket.group", s.Group)
	known(k, "executor.socket.keys", k.c.Context, s.Keys...)
	known(k, "executor.socket.events", k.c.Events, s.Events...)
	for _, m := range slices.Sorted(maps.Keys(k.c.Operations)) {
		o := k.c.Operations[m].Binding
		if o.Kind == "socket" && o.Name == op.Binding.Name && o.Socket != nil && !o.Socket.same(s) {
			k.add("executor.socket", "%s says something else of the same service %s; say it once", m, o.Name)
			return
		}
	}
}

// account: whether it exists is the robot's affair, not the catalog's; how it is written is.
func (k *checker) account(path, name string) {
	if len(name) > 32 || strings.HasPrefix(name, "-") || strings.ContainsFunc(name, func(r rune) bool { return !wordRune(r) && r != '-' && r != '.' }) {
		k.add(path, "%q is no name of a user or group: up to 32 letters, digits, _ - and dots", name)
	}
}

func (s *Socket) same(o *Socket) bool {
	return s.User == o.User && s.Group == o.Group && slices.Equal(s.Keys, o.Keys) && slices.Equal(s.Events, o.Events)
}
