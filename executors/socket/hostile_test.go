package socket

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fxamacker/cbor/v2"

	"deviceagent/taskmanager/core"
)

var goodRegister = registerBody{Protocol: Protocol, Service: "motion", Instance: "i1", Methods: []string{"setMoveTo"}}

func mustWrite(t *testing.T, conn net.Conn, kind Kind, call uint64, body any) {
	t.Helper()
	var buf bytes.Buffer
	if err := encodeFrame(&buf, kind, call, body); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(buf.Bytes()); err != nil {
		t.Fatal(err)
	}
}

// rawFrame frames any payload.
func rawFrame(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// raw is a frame with a body written by hand, as CBOR of any Go value.
func raw(t testing.TB, kind string, call any, body any) []byte {
	t.Helper()
	b, err := cbor.Marshal([]any{kind, call, body})
	if err != nil {
		t.Fatal(err)
	}
	return rawFrame(b)
}

func nested(depth int) any {
	var v any = 1
	for range depth {
		v = []any{v}
	}
	return v
}

func pairs(n int) map[string]any {
	m := map[string]any{}
	for i := range n {
		m[fmt.Sprint(i)] = i
	}
	return m
}

func TestBadFrameClosesWithAReason(t *testing.T) {
	type m = map[string]any
	event := func(extra m) m {
		body := m{"event": "movement.arrived"}
		for k, v := range extra {
			body[k] = v
		}
		return body
	}
	dup := append([]byte{0x83, 0x65}, "event\x00\xa2\x65event\x61a\x65event\x61b"...)
	indef := append([]byte{0x83, 0x65}, "event\x00\xbf\x65event\x61a\xff"...)
	for name, bytes := range map[string][]byte{
		"length zero":             {0, 0, 0, 0},
		"length over the limit":   binary.BigEndian.AppendUint32(nil, MaxFrame+1),
		"length 4 GiB":            {0xff, 0xff, 0xff, 0xff},
		"not an array":            rawFrame([]byte{0xa0, 0, 0, 0}),
		"kind unknown":            raw(t, "jump", 0, m{}),
		"kind of the agent":       raw(t, "dispatch", 0, m{"task_id": "t1", "method": "x"}),
		"register again":          raw(t, "register", 0, goodRegister),
		"call negative":           raw(t, "event", -1, m{}),
		"call cut":                rawFrame([]byte{0x83, 0x65, 'e', 'v', 'e', 'n', 't', 0x1b}),
		"body no map":             raw(t, "event", 0, "x"),
		"body missing":            rawFrame([]byte{0x83, 0x65, 'e', 'v', 'e', 'n', 't', 0x00}),
		"trailing bytes":          rawFrame(append(raw(t, "event", 0, event(nil))[4:], 0)),
		"unknown field":           raw(t, "event", 0, event(m{"color": "red"})),
		"wrong case":              raw(t, "event", 0, m{"Event": "a"}),
		"duplicate key":           rawFrame(dup),
		"indefinite length":       rawFrame(indef),
		"tag":                     raw(t, "event", 0, event(m{"data": m{"a": cbor.Tag{Number: 1, Content: 1}}})),
		"tag around a name":       raw(t, "event", 0, m{"event": cbor.Tag{Number: 99, Content: "a"}}),
		"too many pairs":          raw(t, "event", 0, event(m{"data": pairs(257)})),
		"infinity":                rawFrame([]byte("\x83\x68progress\x00\xa2\x67task_id\x61t\x67percent\xf9\x7c\x00")),
		"bytes as a value":        raw(t, "event", 0, event(m{"data": m{"a": []byte("x")}})),
		"map with number keys":    raw(t, "event", 0, event(m{"data": m{"a": map[int]int{1: 1}}})),
		"NaN":                     rawFrame([]byte("\x83\x68progress\x00\xa2\x67task_id\x61t\x67percent\xf9\x7e\x00")),
		"too deep":                raw(t, "event", 0, event(m{"data": m{"a": nested(17)}})),
		"too many elements":       raw(t, "event", 0, event(m{"data": m{"a": make([]bool, 1025)}})),
		"event without a name":    raw(t, "event", 0, m{}),
		"event name is text":      raw(t, "event", 0, m{"event": "movement arrived"}),
		"source class unknown":    raw(t, "event", 0, event(m{"source_class": "sure"})),
		"time stamp too long":     raw(t, "event", 0, event(m{"occurred_at": strings.Repeat("9", 65)})),
		"task id too long":        raw(t, "event", 0, event(m{"task_id": strings.Repeat("a", 129)})),
		"event too big":           raw(t, "event", 0, event(m{"data": m{"a": strings.Repeat("a", MaxEvent)}})),
		"result without a task":   raw(t, "result", 0, m{"outcome": "done"}),
		"outcome unknown":         raw(t, "result", 0, m{"task_id": "t1", "outcome": "fine"}),
		"progress without a task": raw(t, "progress", 0, m{"percent": 1}),
		"context key is text":     raw(t, "context", 0, m{"values": []m{{"key": "a b", "available": true}}}),
		"context key not its own": raw(t, "context", 0, m{"values": []m{{"key": "safety.state", "value": "normal", "available": true}}}),
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, Options{}, func(r *rig) {
				conn := r.pipe()
				defer conn.Close()
				mustWrite(t, conn, KindRegister, 0, goodRegister)
				in := newFrameReader(conn)
				if f, err := in.next(); err != nil || f.Kind != KindRegistered {
					t.Fatalf("%v %v", f.Kind, err)
				}
				synctest.Wait()
				r.in.take()
				go func() { _, _ = conn.Write(bytes) }()
				f, err := in.next()
				if err != nil || f.Kind != KindClose {
					t.Fatalf("got %v, %v, want a close frame", f.Kind, err)
				}
				var b closeBody
				if err := decodeBody(f, &b); err != nil || b.Reason != reasonBadFrame || b.Detail == "" {
					t.Errorf("close frame %+v, %v", b, err)
				}
				synctest.Wait()
				evs := r.in.take()
				if len(evs) != 1 || evs[0] != (core.ExecutorDown{Service: "motion", Reason: reasonBadFrame}) {
					t.Errorf("events %+v, want down alone", evs)
				}
			})
		})
	}
}

func TestBadAnswerLeavesItsCallUnknown(t *testing.T) {
	type m = map[string]any
	for _, tc := range []struct {
		name string
		out  core.Output
		kind string
		body any
		want core.Event
	}{
		{"answer of the wrong kind", dispatch(1), "status", m{"known": "running"}, core.TaskAnswered{Task: "t1", Unknown: true,
			Reason: core.ReasonExecutorUnavail, Instance: "i1"}},
		{"ended without how", core.Query{Task: "t1", Service: "motion"}, "status", m{"known": "ended"},
			core.TaskStatus{Task: "t1", Known: core.KnownNoAnswer, Instance: "i1"}},
		{"known is unheard of", core.Query{Task: "t1", Service: "motion"}, "status", m{"known": "perhaps"},
			core.TaskStatus{Task: "t1", Known: core.KnownNoAnswer, Instance: "i1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inRig(t, Options{}, func(r *rig) {
				conn := r.pipe()
				defer conn.Close()
				mustWrite(t, conn, KindRegister, 0, goodRegister)
				in := newFrameReader(conn)
				_, _ = in.next()
				synctest.Wait()
				r.in.take()
				r.carry(tc.out)
				f, err := in.next()
				if err != nil {
					t.Fatal(err)
				}
				go func() { _, _ = conn.Write(raw(t, tc.kind, f.Call, tc.body)) }()
				if f, err = in.next(); err != nil || f.Kind != KindClose {
					t.Fatalf("got %v, %v, want a close frame", f.Kind, err)
				}
				synctest.Wait()
				if evs := r.in.take(); len(evs) != 2 || evs[0] != tc.want {
					t.Errorf("events %+v, want %+v, down", evs, tc.want)
				}
			})
		})
	}
}

func TestCloseFrameDoesNotWaitForAProgramThatDoesNotRead(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		conn := r.pipe()
		defer conn.Close()
		mustWrite(t, conn, KindRegister, 0, goodRegister)
		_, _ = newFrameReader(conn).next()
		synctest.Wait()
		r.in.take()
		_, _ = conn.Write([]byte{0, 0, 0, 0})
		if evs := r.after(farewellTime); len(evs) != 1 {
			t.Errorf("events %+v, want down", evs)
		}
	})
}

func TestFirstFrameMustRegister(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		for _, bytes := range [][]byte{raw(t, "event", 0, map[string]any{"event": "a"}), raw(t, "register", 0, map[string]any{"x": 1})} {
			conn := r.pipe()
			go func() { _, _ = conn.Write(bytes) }()
			if f, err := newFrameReader(conn).next(); err != nil || f.Kind != KindClose {
				t.Errorf("got %v, %v, want a close frame", f.Kind, err)
			}
			conn.Close()
		}
	})
}

func TestOldProtocolIsRefusedByName(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		conn := r.pipe()
		defer conn.Close()
		body := goodRegister
		body.Protocol = 2
		mustWrite(t, conn, KindRegister, 0, body)
		f, err := newFrameReader(conn).next()
		var b registeredBody
		if err != nil || decodeBody(f, &b) != nil || b.OK || b.Reason != refusedProtocol || len(b.Faults) != 1 {
			t.Errorf("got %+v, %v", b, err)
		}
	})
}

func TestDialComesBack(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		pauses := make(chan time.Duration, 64)
		down := 0
		p := newProgram()
		d := Dialer{
			Reg:  Registration{Service: "motion", Instance: "i1", Methods: manyMethods(1)},
			Lost: func(_ error, pause time.Duration) { pauses <- pause },
			Open: r.opener(&down),
		}
		ended := make(chan error, 1)
		go func() { ended <- d.Run(r.ctx, p) }()
		synctest.Wait()
		time.Sleep(settled)
		(<-p.session).Cut()
		if got := <-pauses; got != retryFirst {
			t.Errorf("first pause %v, want %v", got, retryFirst)
		}
		down = 20 // failures to come
		time.Sleep(retryFirst)
		synctest.Wait()
		var last time.Duration
		(<-p.session).Cut() // a session that did not last: the back-off goes on
		for range 21 {
			last = <-pauses
			if last < retryLow || last > retryHigh {
				t.Errorf("pause %v outside %v to %v", last, retryLow, retryHigh)
			}
		}
		time.Sleep(retryHigh)
		synctest.Wait()
		if len(p.session) != 1 {
			t.Error("not connected again")
		}
		r.stop()
		if err := <-ended; err == nil {
			t.Error("ended without a cause")
		}
	})
}
