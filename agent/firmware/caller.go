package firmware

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"sync"

	godbus "github.com/godbus/dbus/v5"
)

// role is what a caller may do.
type role int

const (
	nobody  role = iota
	reader       // looks
	control      // looks and operates
)

// caller is who makes a call, as the bus knows it from the kernel.
type caller struct {
	name   string // unique name
	uid    uint32
	pid    uint32 // of the moment of the connection; for the log only
	groups []uint32
}

// String names the caller as it is written into the journal.
func (c caller) String() string { return fmt.Sprintf("bus uid %d", c.uid) }

// callerOf asks the bus who a unique name is. Whoever cannot be named is refused.
func (s *session) callerOf(ctx context.Context, name string) (caller, error) {
	c := caller{name: name}
	var cred map[string]godbus.Variant
	if err := s.call(ctx, "GetConnectionCredentials", name).Store(&cred); err != nil {
		return c, fmt.Errorf("cannot ask the bus for who calls: %w", err)
	}
	uid, ok := cred["UnixUserID"]
	if !ok || uid.Store(&c.uid) != nil {
		return c, errors.New("the bus does not say which user calls")
	}
	if pid, ok := cred["ProcessID"]; ok {
		_ = pid.Store(&c.pid)
	}
	if gids, ok := cred["UnixGroupIDs"]; ok && gids.Store(&c.groups) == nil {
		return c, nil
	}
	var err error
	c.groups, err = groupsOf(c.uid) // an older bus does not tell them
	return c, err
}

// groupsOf is what the system's files say of a user's groups. A user whom they do not know has none.
func groupsOf(uid uint32) ([]uint32, error) {
	u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if errors.As(err, new(user.UnknownUserIdError)) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look up user %d: %w", uid, err)
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("cannot look up the groups of user %d: %w", uid, err)
	}
	var out []uint32
	for _, id := range ids {
		if n, err := strconv.ParseUint(id, 10, 32); err == nil {
			out = append(out, uint32(n))
		}
	}
	return out, nil
}

// groupID is the number of a group given by name or number. ok false: there is none, so nobody is in it.
func groupID(group string) (id uint32, ok bool) {
	if group == "" {
		return 0, false
	}
	if g, err := user.LookupGroup(group); err == nil {
		group = g.Gid
	}
	n, err := strconv.ParseUint(group, 10, 32)
	return uint32(n), err == nil
}

// roleOf says what a caller may do. The agent's own user and root could do it without asking.
func (s *Service) roleOf(c caller) role {
	in := func(group string) bool {
		id, ok := groupID(group)
		return ok && slices.Contains(c.groups, id)
	}
	switch {
	case !s.o.strict && (c.uid == 0 || int(c.uid) == os.Geteuid()), in(s.o.Control):
		return control
	case in(s.o.Read):
		return reader
	}
	return nobody
}

// Bounds of calls under way. Source: a bus lets 128 calls of one connection wait for their answers.
const (
	perCaller = 16
	inAll     = 128
)

// gate lets so many calls in at a time.
type gate struct {
	mu   sync.Mutex
	open map[string]int
	sum  int
}

// enter reports whether one more call of a name is let in; leave has to be called once it has been answered.
func (g *gate) enter(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sum >= inAll || g.open[name] >= perCaller {
		return false
	}
	g.sum++
	g.open[name]++
	return true
}

func (g *gate) leave(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sum--
	if g.open[name]--; g.open[name] == 0 {
		delete(g.open, name)
	}
}

// admit lets a call in, and says who makes it; done has to be called at its end. Errors: too many calls, the caller may not.
func (s *session) admit(sender godbus.Sender, method string, need role) (c caller, done func(), fail *godbus.Error) {
	name := string(sender)
	if !s.gate.enter(name) {
		return c, nil, failure("LimitsExceeded", "too many calls of "+name+" wait for their answers")
	}
	done = func() { s.gate.leave(name) }
	ctx, cancel := context.WithTimeout(s.conn.Context(), askTime)
	defer cancel()
	c, err := s.callerOf(ctx, name)
	if err == nil && s.roleOf(c) < need {
		err = fmt.Errorf("user %d may not call %s: it is in neither of the groups that may", c.uid, method)
	}
	if err != nil {
		done()
		s.refusals.Warn().Err(err).Str("method", method).Uint32("uid", c.uid).Uint32("pid", c.pid).Msg("call on the bus refused")
		return c, nil, failure("AccessDenied", err.Error())
	}
	return c, done, nil
}

// failure is an error of the bus's own names.
func failure(name, text string) *godbus.Error {
	return godbus.NewError(busError+name, []any{clean(text)})
}
