// Package bridge stands between the wire and the core: message bytes become checked core events, core messages become bytes. It is
// pure. A plan passes only whole: every name is looked up in the catalog, every reference followed, every fault named with its
// path, and what this form of the agent cannot do is refused, never ignored. It decides nothing about what is running: that is
// the core's. Contract: docs/contract.md.
package bridge

import (
	"slices"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Options are what a Codec knows of its device.
type Options struct {
	DeviceID  string
	Catalog   *catalog.Catalog
	Rooms     func() *catalog.Catalog // Catalog with the rooms of now, asked for each message; nil: Catalog
	AllowJSON bool                    // also from the cloud; local messages may always be JSON
	Encoding  wire.Encoding           // of up messages; CBOR where empty
	Limits    wire.Limits
	NewID     func() string // message ids: UUIDv7

	Experiences Experiences

	Keys   func() wire.Keys // whose signatures are believed, asked for each message; nil: nobody's
	Signed bool             // what comes from the cloud has to be signed; who hands in a message on the robot is known otherwise
}

// Codec turns messages into core events and core messages into bytes.
type Codec struct{ o Options }

// New makes a Codec. NewID must be set.
func New(o Options) *Codec {
	if o.Encoding == "" {
		o.Encoding = wire.CBOR
	}
	if o.Keys == nil {
		o.Keys = func() wire.Keys { return nil }
	}
	if o.Rooms == nil {
		o.Rooms = func() *catalog.Catalog { return o.Catalog }
	}
	return &Codec{o}
}

// check grounds a plan in the catalog with the rooms of now.
func (c *Codec) check(w *wire.Plan, local bool) (p *core.Plan, faults, goal []core.Fault) {
	cat := c.o.Rooms()
	p, faults, goal = checkPlan(cat, w, local, c.o.Experiences)
	if cat.RoomsEtag != c.o.Catalog.RoomsEtag && slices.ContainsFunc(p.Steps, func(s core.StepSpec) bool { return resolvesLater(cat, s) }) {
		p.Rooms = cat.Rooms
	}
	return p, faults, goal
}

// resolvesLater says whether rooms of a step are looked up when it is dispatched.
func resolvesLater(cat *catalog.Catalog, s core.StepSpec) bool {
	if len(s.InputFrom) > 0 {
		for _, p := range cat.Operations[s.Method].Params {
			if p.Type == catalog.RoomRef {
				return true
			}
		}
	}
	return false
}

// defaultTTL bounds the age of a plan that came from an utterance and says nothing of its own. Source: docs/contract.md, envelope.
const defaultTTL = 300 * time.Second

func millis(rfc3339 string) int64 {
	t, err := time.Parse(time.RFC3339, rfc3339)
	if err != nil {
		return 0
	}
	return t.UnixMilli()
}

func refusal(h core.Head, reason core.Reason, faults []core.Fault) core.Refused {
	return core.Refused{Head: h, Answer: core.Answer{Ref: h.Msg, Reason: reason, Faults: faults}}
}
