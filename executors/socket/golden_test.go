package socket

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

var update = flag.Bool("update", false, "rewrite the examples in docs/executor-socket.md")

const docFile = "../../docs/executor-socket.md"

// examples is one frame of every kind, as the document shows them.
var examples = []struct {
	kind Kind
	call uint64
	body any
}{
	{KindRegister, 0, registerBody{Protocol: Protocol, Service: "motion", Instance: "0197a1c2", Methods: []string{"setMoveTo", "stopMovement"},
		Keys: []string{"movement.location", "movement.is_moving"}}},
	{KindRegistered, 0, registeredBody{OK: true}},
	{KindRegistered, 0, registeredBody{Reason: refusedContents, Faults: []string{"method fly: the catalog does not bind it to service motion"}}},
	{KindDispatch, 1, dispatchBody{Task: "wf_1.move.1", Method: "setMoveTo", Params: values{"position": map[string]any{"room_id": "kitchen"}}}},
	{KindAnswer, 1, answerBody{Accepted: true}},
	{KindAnswer, 1, answerBody{Reason: "battery_low"}},
	{KindProgress, 0, progressBody{Task: "wf_1.move.1", Percent: 40}},
	{KindEvent, 0, eventBody{Event: "movement.arrived", Task: "wf_1.move.1", Resource: "base", Source: "lidar", Class: "independent",
		OccurredAt: "2026-11-30T09:00:12.500Z", Seq: 41, Data: values{"room_id": "kitchen"}}},
	{KindResult, 0, resultBody{Task: "wf_1.move.1", Outcome: "done"}},
	{KindResult, 0, resultBody{Task: "wf_1.air.1", Outcome: "done", Output: values{"pm25": int64(12), "grade": "good"}}},
	{KindQuery, 2, taskBody{Task: "wf_1.move.1"}},
	{KindStatus, 2, statusBody{Known: "running"}},
	{KindStatus, 2, statusBody{Known: "running", Paused: true}},
	{KindStatus, 2, statusBody{Known: "unknown", Sealed: true}},
	{KindStatus, 2, statusBody{Known: "ended", Ended: &endedBody{Outcome: "done"}, Event: &eventBody{Event: "movement.arrived",
		Data: values{"room_id": "kitchen"}}}},
	{KindCancel, 3, cancelBody{Task: "wf_1.move.1", Method: "setMoveTo"}},
	{KindPause, 4, taskBody{Task: "wf_1.move.1"}},
	{KindPaused, 0, taskBody{Task: "wf_1.move.1"}},
	{KindResume, 5, taskBody{Task: "wf_1.move.1"}},
	{KindResumed, 0, taskBody{Task: "wf_1.move.1"}},
	{KindAnswer, 3, answerBody{Accepted: true}},
	{KindRead, 6, readBody{Keys: []string{"movement.is_moving", "movement.location"}}},
	{KindValues, 6, valuesBody{Values: []valueBody{{Key: "movement.is_moving", Value: false, Class: "independent", Available: true},
		{Key: "movement.location"}}}},
	{KindContext, 0, valuesBody{Values: []valueBody{{Key: "movement.is_moving", Value: true, Class: "independent", Available: true}}}},
	{KindClose, 0, closeBody{Reason: reasonBadFrame, Detail: "bad frame: length 0 is outside 1 to 262144"}},
}

func encoded(t testing.TB, kind Kind, call uint64, body any) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := encodeFrame(&buf, kind, call, body); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestDocumentShowsTheBytes keeps the document true: what it shows is what goes over the wire.
func TestDocumentShowsTheBytes(t *testing.T) {
	var want strings.Builder
	for _, ex := range examples {
		b := encoded(t, ex.kind, ex.call, ex.body)
		diag, err := cbor.Diagnose(b[lengthBytes:])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&want, "%s\n    %s\n", diag, hex.EncodeToString(b))
	}
	doc, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- examples -->\n```text\n", "```\n<!-- end of examples -->"
	head, rest, ok := strings.Cut(string(doc), begin)
	shown, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the examples", docFile)
	}
	if *update {
		if err := os.WriteFile(docFile, []byte(head+begin+want.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != want.String() {
		t.Errorf("%s shows other bytes; got\n%s\nwant\n%s", docFile, shown, want.String())
	}
}

// TestDocumentNamesEverything fails when a frame, a field, a limit or a reason is missing in the document.
func TestDocumentNamesEverything(t *testing.T) {
	doc, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{refusedProtocol, refusedPermit, refusedContents, reasonBadFrame, reasonReplaced, reasonLost,
		fmt.Sprint(MaxFrame), fmt.Sprint(MaxEvent), RegisterTime.String(), WriteTime.String()}
	for kind := range kinds {
		names = append(names, "`"+kind+"`")
	}
	for _, body := range []any{registerBody{}, registeredBody{}, dispatchBody{}, taskBody{}, cancelBody{}, readBody{}, closeBody{},
		answerBody{}, statusBody{}, endedBody{}, resultBody{}, progressBody{}, eventBody{}, valueBody{}, valuesBody{}} {
		ty := reflect.TypeOf(body)
		for i := range ty.NumField() {
			name, _, _ := strings.Cut(ty.Field(i).Tag.Get("cbor"), ",")
			names = append(names, "`"+name+"`")
		}
	}
	for _, name := range names {
		if !strings.Contains(string(doc), name) {
			t.Errorf("the document does not name %s", name)
		}
	}
}

func TestExamplesRoundTrip(t *testing.T) {
	for _, ex := range examples {
		b := encoded(t, ex.kind, ex.call, ex.body)
		f, err := newFrameReader(bytes.NewReader(b)).next()
		if err != nil || f.Kind != ex.kind || f.Call != ex.call {
			t.Fatalf("%s %d: read %s %d, %v", ex.kind, ex.call, f.Kind, f.Call, err)
		}
		into := reflect.New(reflect.TypeOf(ex.body))
		if err := decodeBody(f, into.Interface()); err != nil {
			t.Fatal(err)
		}
		if again := encoded(t, ex.kind, ex.call, into.Elem().Interface()); !bytes.Equal(again, b) {
			t.Errorf("%s: %x, again %x", ex.kind, b, again)
		}
	}
}

func TestCallNumbers(t *testing.T) {
	for _, n := range []uint64{0, 23, 24, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, 1<<64 - 1} {
		f, err := newFrameReader(bytes.NewReader(encoded(t, KindAnswer, n, answerBody{}))).next()
		if err != nil || f.Call != n {
			t.Errorf("call %d came back as %d, %v", n, f.Call, err)
		}
	}
}

func TestWholeNumbersTravelAsIntegers(t *testing.T) {
	for _, tc := range []struct {
		in   any
		want string
	}{
		{20.0, "20"}, {-3.0, "-3"}, {0.5, "0.5"}, {float64(maxSafe), "9007199254740992"}, {1e300, "1.0e+300"}, {true, "true"},
		{nil, "null"}, {[]any{1.0}, "[1]"}, {map[string]any{"a": 2.0}, `{"a": 2}`}, {map[string]any{}, "{}"},
	} {
		b, err := encMode.Marshal(wireValue(tc.in))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := cbor.Diagnose(b); got != tc.want {
			t.Errorf("%v travels as %s, want %s", tc.in, got, tc.want)
		}
	}
}

// FuzzFrame feeds any bytes to a connection's decoder: it must neither panic nor take more than it should, and what it accepts
// must mean the same after one more round over the wire.
func FuzzFrame(f *testing.F) {
	for _, ex := range examples {
		f.Add(encoded(f, ex.kind, ex.call, ex.body)[lengthBytes:])
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		stream := rawFrame(payload)
		fr, err := newFrameReader(bytes.NewReader(stream)).next()
		if err != nil {
			return
		}
		outs := []core.Output{dispatch(1), core.Query{Task: "t1"}, core.Stop{Task: "t1"}, core.Read{}}
		l := newLink(NewServer(Options{}), nil, Registration{Service: "motion", Instance: "i1", Keys: []catalog.ContextKey{"movement.is_moving"}}, nil)
		for i, out := range outs {
			var answer core.Event
			l.calls[uint64(i)] = pending{out: out, done: func(ev core.Event, _ error) { answer = ev }}
			ev, err := l.inbound(fr)
			if err != nil {
				continue
			}
			if ev != nil {
				sameAgain(t, l, ev)
			}
			if st, ok := answer.(core.TaskStatus); ok && st.Known == core.KnownEnded && st.Ended == nil {
				t.Fatal("an end without an outcome was accepted")
			}
		}
	})
}

func sameAgain(t *testing.T, l *link, ev core.Event) {
	var kind Kind
	var body any
	switch ev := ev.(type) {
	case core.Observed:
		kind, body = KindEvent, eventOf(ev)
	case core.ContextRead:
		kind, body = KindContext, valuesOf(ev.Values)
	case core.TaskEnded:
		kind, body = KindResult, resultBody{Task: string(ev.Task), Outcome: string(ev.Outcome), Reason: string(ev.Reason), Output: wireValues(ev.Output)}
	case core.TaskProgress:
		kind, body = KindProgress, progressBody{Task: string(ev.Task), Percent: ev.Percent, Note: ev.Note}
	default:
		return
	}
	var buf bytes.Buffer
	if err := encodeFrame(&buf, kind, 0, body); err != nil {
		return // grew over the limit: the source got its name, or a float its full width
	}
	f, err := parseFrame(buf.Bytes()[lengthBytes:])
	if err != nil {
		t.Fatalf("%+v does not parse again: %v", ev, err)
	}
	again, err := l.inbound(f)
	if err != nil {
		t.Fatalf("%+v is refused: %v", ev, err)
	}
	if a, b := fmt.Sprintf("%+v", again), fmt.Sprintf("%+v", ev); a != b {
		t.Fatalf("%s came back as %s", b, a)
	}
}
