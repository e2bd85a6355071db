package agent

import (
	"fmt"
	"maps"
	"os/user"
	"slices"
	"strconv"

	"deviceagent/executors/socket"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// permit says why a peer may not register a service of the executor socket; "": it may. What the catalog names is looked up each time:
// a package that makes its user while the agent runs needs no restart of it. Who cannot be found lets nobody in.
func (a *Agent) permit(p socket.Peer, service core.ServiceID) string {
	s := a.o.Catalog.SocketOf(string(service))
	if s == nil || s.User == "" && s.Group == "" {
		return ""
	}
	if !p.Known {
		return "nothing is known of this peer, and the catalog says who may register " + string(service)
	}
	if s.User != "" {
		uid, err := lookUp(s.User, uidOf)
		if err != nil {
			return unknownAccount(service, "user", s.User, err)
		}
		if p.UID != uid {
			return fmt.Sprintf("user id %d may not register %s: the catalog wants user %s (%d); run the service as that user, or change executor.socket.user", p.UID, service, s.User, uid)
		}
	}
	if s.Group != "" {
		gid, err := lookUp(s.Group, gidOf)
		if err != nil {
			return unknownAccount(service, "group", s.Group, err)
		}
		if !p.In(gid) {
			return fmt.Sprintf("user id %d may not register %s: the catalog wants group %s (%d); add SupplementaryGroups=%s to the unit of the service, or change executor.socket.group", p.UID, service, s.Group, gid, s.Group)
		}
	}
	return ""
}

func unknownAccount(service core.ServiceID, kind, name string, err error) string {
	return fmt.Sprintf("nobody may register %s: the catalog wants %s %s, and it is not known on this robot (%v); make it, or change executor.socket.%s", service, kind, name, err, kind)
}

func uidOf(name string) (string, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return "", err
	}
	return u.Uid, nil
}

func gidOf(name string) (string, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return "", err
	}
	return g.Gid, nil
}

// lookUp is the number of an account: its own if it is written as one.
func lookUp(name string, find func(string) (string, error)) (uint32, error) {
	n, err := strconv.ParseUint(name, 10, 32)
	if err == nil {
		return uint32(n), nil
	}
	text, err := find(name)
	if err != nil {
		return 0, err
	}
	n, err = strconv.ParseUint(text, 10, 32)
	return uint32(n), err
}

// strangers lists the services that nobody can register because the catalog names a user or group that this robot does not know.
func strangers(c *catalog.Catalog) (out []string) {
	names := map[string]*catalog.Socket{}
	for _, op := range c.Operations {
		if op.Binding.Kind == "socket" {
			names[op.Binding.Name] = c.SocketOf(op.Binding.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		s := names[name]
		if s == nil {
			continue
		}
		for _, account := range []struct {
			kind, name string
			find       func(string) (string, error)
		}{{"user", s.User, uidOf}, {"group", s.Group, gidOf}} {
			if account.name == "" {
				continue
			}
			if _, err := lookUp(account.name, account.find); err != nil {
				out = append(out, unknownAccount(core.ServiceID(name), account.kind, account.name, err))
			}
		}
	}
	return out
}
