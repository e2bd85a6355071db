package diag

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// EventLost is made by the client: the connection is gone, and it is tried again.
const EventLost = "lost"

// StreamEvent is one event of a stream, whichever of the fields its kind has.
type StreamEvent struct {
	Kind string     `json:"event"`
	ID   string     `json:"id,omitempty"`
	Live *Live      `json:"live,omitempty"`
	Move *MoveEvent `json:"move,omitempty"`
	Gap  *Gap       `json:"gap,omitempty"`
	End  *End       `json:"end,omitempty"`
	Lost *Problem   `json:"problem,omitempty"`
}

// errDone ends a stream on the reader's wish.
var errDone = errors.New("done")

// Done is what a reader of Follow returns when it has seen enough.
func Done() error { return errDone }

// Follow reads a stream from behind a sequence number on and gives each event to f, over restarts of the agent: after a loss it
// asks again from the last id that it saw, with a pause that grows to 5 s. It returns nil after the end of the workflow or when f
// said [Done], else f's error, ctx's cause, or the problem that answers it at once (no such id, permission, no socket at the start).
func (c *Client) Follow(ctx context.Context, id string, from int64, f func(StreamEvent) error) error {
	query := url.Values{}
	if id != "" {
		query.Set("id", id)
	}
	r := reader{c: c, query: query, f: f}
	if from >= 0 {
		query.Set("from", NewPosition(from))
	}
	pause := 100 * time.Millisecond
	for {
		began, err := r.once(ctx)
		switch {
		case errors.Is(err, errDone):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case r.fatal != nil:
			return r.fatal
		case !began && !r.begun:
			return err
		}
		p, ok := errors.AsType[*Problem](err)
		if ok && (p.Exit == ExitNoSuchID || p.Exit == ExitPermission) {
			return err
		}
		if !ok {
			p = NewProblem(CodeSilent, "the connection to the agent is gone", "")
		}
		if began {
			pause = 100 * time.Millisecond
		}
		if began || !r.told {
			r.told = true
			if err := f(StreamEvent{Kind: EventLost, Lost: p}); err != nil {
				return err
			}
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, 5*time.Second)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// NewPosition writes a sequence number as the id of an event.
func NewPosition(seq int64) string { return position{seq: seq}.String() }

type reader struct {
	c     *Client
	query url.Values
	f     func(StreamEvent) error
	last  string // id of the last event
	begun bool   // a stream was there at least once
	told  bool
	fatal error
}

// once reads one connection to its end.
func (r *reader) once(ctx context.Context) (began bool, err error) {
	h, line, done := r.c.http(r.c.Socket)
	defer done()
	req := r.c.request(ctx, http.MethodGet, "/watch", r.query, nil)
	if r.last != "" {
		req.Header.Set("Last-Event-ID", r.last)
	}
	resp, err := h.Do(req)
	if err != nil {
		return false, r.c.unreachable(ctx, line, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := problemIn(resp, r.c.Socket); err != nil {
		return false, err
	}
	r.begun, r.told = true, false
	return true, r.events(resp)
}

// events reads server-sent events: fields up to an empty line.
func (r *reader) events(resp *http.Response) error {
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 4096), 1<<20)
	var kind, id, data string
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if data != "" {
				if err := r.give(kind, id, data); err != nil {
					return err
				}
			}
			kind, id, data = "", "", ""
		case name == "event":
			kind = value
		case name == "id":
			id = value
		case name == "data":
			data += value
		}
	}
	return lines.Err()
}

func (r *reader) give(kind, id, data string) error {
	ev := StreamEvent{Kind: kind, ID: id}
	var into any
	switch kind {
	case EventLive:
		ev.Live = &Live{}
		into = ev.Live
	case EventMove:
		ev.Move = &MoveEvent{}
		into = ev.Move
	case EventGap:
		ev.Gap = &Gap{}
		into = ev.Gap
	case EventEnd:
		ev.End = &End{}
		into = ev.End
	default:
		return nil // a later agent says more
	}
	if err := json.Unmarshal([]byte(data), into); err != nil {
		r.fatal = NewProblem(CodeWrongVersion, "an event of the stream cannot be read: "+err.Error(), "deviceagentctl version")
		return r.fatal
	}
	if id != "" {
		r.last = id
	}
	if err := r.f(ev); err != nil {
		if !errors.Is(err, errDone) {
			r.fatal = err
		}
		return err
	}
	if kind == EventEnd {
		return errDone
	}
	return nil
}
