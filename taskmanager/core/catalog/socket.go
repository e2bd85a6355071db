package catalog

import "slices"

// Socket bounds a service of the executor socket. It is said at one operation of the service, or at all in the same words. What is
// left out is not bounded, but for keys and events that another service claims.
type Socket struct {
	User   string       `json:"user,omitempty"`   // the user that the program runs as: a name, or a number
	Group  string       `json:"group,omitempty"`  // a group that the program is in
	Keys   []ContextKey `json:"keys,omitempty"`   // of the context, that it alone may speak of, and of no other
	Events []EventName  `json:"events,omitempty"` // that it alone may report, and no other
}

// SocketOf is what is said of a service of the executor socket; nil: nothing.
func (c *Catalog) SocketOf(service string) *Socket {
	for _, s := range c.sockets() {
		if s.name == service {
			return s.Socket
		}
	}
	return nil
}

type namedSocket struct {
	name string
	*Socket
}

// sockets lists what is said of services, each as often as it is said.
func (c *Catalog) sockets() (out []namedSocket) {
	for _, op := range c.Operations {
		if op.Binding.Kind == "socket" && op.Binding.Socket != nil {
			out = append(out, namedSocket{op.Binding.Name, op.Binding.Socket})
		}
	}
	return out
}

// MaySpeak says whether a service of the executor socket may register a context key.
func (c *Catalog) MaySpeak(service string, key ContextKey) bool {
	return may(c, service, key, func(s *Socket) []ContextKey { return s.Keys })
}

// MayReport says whether a service of the executor socket may report an event.
func (c *Catalog) MayReport(service string, event EventName) bool {
	return may(c, service, event, func(s *Socket) []EventName { return s.Events })
}

// may: a service with a list has what is on it; one without has what is on nobody's.
func may[T comparable](c *Catalog, service string, what T, list func(*Socket) []T) bool {
	if own := c.SocketOf(service); own != nil && len(list(own)) > 0 {
		return slices.Contains(list(own), what)
	}
	return !slices.ContainsFunc(c.sockets(), func(s namedSocket) bool { return slices.Contains(list(s.Socket), what) })
}
