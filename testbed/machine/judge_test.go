package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/store"
	"deviceagent/testbed/home"
)

// aState is a store that holds plan wf_1, open, with task t-1; and wf_2, ended.
func aState(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), filepath.Join(dir, "agent.db"), store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	told, err := cbor.Marshal(core.Workflow{State: core.WfCompleted}) // the robot has not told the end of its last task yet
	if err != nil {
		t.Fatal(err)
	}
	err = s.Commit(t.Context(), taskmanager.Batch{Records: []taskmanager.Record{
		{Workflow: "wf_1", Body: []byte{1}}, {Workflow: "wf_1", Item: "a:t-1", Body: []byte{1}}, {Workflow: "wf_2", Body: []byte{1}, Closed: true}, {Workflow: "wf_4", Body: told}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func invoked(task string) due {
	return due{robot: []home.Entry{{Kind: home.KindInvoke, Method: "setMoveTo", TaskID: task}}}
}

func TestWhatWasAcknowledgedAndIsNotThereIsNamed(t *testing.T) {
	state := aState(t)
	for _, tc := range []struct {
		name string
		due  due
		want string // empty: all is there
	}{
		{"all that was acknowledged is there", due{accepted: []string{"wf_1", "wf_2", "wf_4"}, ended: []string{"wf_2", "wf_4"}, robot: invoked("t-1").robot}, ""},
		{"a plan is missing", due{accepted: []string{"wf_1", "wf_3"}}, "plan wf_3 had been accepted and is not there"},
		{"an end is missing", due{accepted: []string{"wf_1"}, ended: []string{"wf_1"}}, "plan wf_1 had ended and is open"},
		{"a task is missing", invoked("t-2"), "the robot had been given task t-2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			faults, err := lost(t.Context(), state, tc.due, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(faults, "; "); !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("faults %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAStoreThatIsGoneIsALossOnlyWhereSomethingWasAcknowledged(t *testing.T) {
	for _, tc := range []struct {
		due  due
		want int
	}{{due{}, 0}, {due{accepted: []string{"wf_1"}}, 1}} {
		faults, err := lost(t.Context(), t.TempDir(), tc.due, nil)
		if err != nil || len(faults) != tc.want {
			t.Errorf("faults %q (%v), want %d", faults, err, tc.want)
		}
	}
}

func TestADamagedStoreIsALoss(t *testing.T) {
	state := aState(t)
	path := filepath.Join(state, "agent.db")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(text[4096:], bytes.Repeat([]byte{0xa5}, len(text)-4096))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	faults, err := lost(t.Context(), state, due{}, nil)
	if err != nil || len(faults) != 1 || !strings.Contains(faults[0], "store") {
		t.Errorf("faults %q (%v)", faults, err)
	}
}

// TestOnlyWhatCameOutBeforeTheCutIsDue: what came later may be lost with it.
func TestOnlyWhatCameOutBeforeTheCutIsDue(t *testing.T) {
	seen := []Seen{{100, PortAck, "accepted wf_1\r"}, {200, PortRobot, `{"kind":"invoke","method":"setMoveTo","task_id":"t-1"}`},
		{200, PortRobot, `{"kind":"invoke","method":"getAirQuality","task_id":"t-2"}`}, {300, PortAck, "ended wf_1"}}
	for length, want := range map[int64]int{99: 0, 100: 1, 200: 2, 299: 2, 300: 3} {
		if got := dueAt(seen, length).count(); got != want {
			t.Errorf("with a log of %d bytes %d things are due, want %d", length, got, want)
		}
	}
}

func TestTheBootAfterACutIsJudged(t *testing.T) {
	a := Aftermath{Steps: 1}
	before := due{accepted: []string{"wf_1", "wf_2"}, ended: []string{"wf_2"}, robot: invoked("t-1").robot}
	done, late := plan{State: core.WfCompleted}, plan{State: core.WfFailed, Reason: core.ReasonEvidenceTimeout}
	good := map[string]plan{"wf_1": done, "wf_2": done}
	for _, tc := range []struct {
		name  string
		ends  map[string]plan
		after []home.Entry
		want  string
	}{
		{"right", good, invoked("t-3").robot, ""},
		{"a plan that does not complete", map[string]plan{"wf_1": {State: core.WfFailed}, "wf_2": done}, nil, "wf_1 is failed"},
		{"the cut took the proof", map[string]plan{"wf_1": late, "wf_2": done}, nil, ""},
		{"a proof that had been there", map[string]plan{"wf_1": done, "wf_2": late}, nil, "wf_2 is failed"},
		{"more proofs than can be under way", map[string]plan{"wf_1": late, "wf_2": done, "wf_3": late}, nil, "is failed (evidence_timeout)"},
		{"a plan that nobody knows", map[string]plan{"wf_2": done}, nil, "nobody knows plan wf_1"},
		{"a task twice", good, invoked("t-1").robot, "task t-1 was given to the robot again"},
		{"more than was open", good, append(invoked("t-3").robot, invoked("t-4").robot...), "only 1 steps could be open"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.Join(append(a.wrongEnds(tc.ends, before), a.twice(tc.after, tc.ends, before)...), "; ")
			if !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("faults %q, want %q", got, tc.want)
			}
		})
	}
}

// TestAWatchNotesHowLongTheLogWas: over real sockets, as QEMU connects.
func TestAWatchNotesHowLongTheLogWas(t *testing.T) {
	dir, err := os.MkdirTemp("", "watch") // the path of a unix socket is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	log, sock := filepath.Join(dir, "log"), filepath.Join(dir, "ack")
	if err := os.WriteFile(log, make([]byte, 1234), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	out := &lockedBuffer{}
	ready := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := Watch(ctx, map[string]string{PortAck: sock}, log, out, func() { close(ready) }); err != nil {
			t.Error(err)
		}
	})
	<-ready
	conn, err := net.Dial("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("accepted wf_1\n")); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); out.String() == "" && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	_ = conn.Close()
	stop()
	wg.Wait()
	all, err := ReadSeen(strings.NewReader(out.String() + `{"log":12`)) // a line that a kill cut off
	if err != nil || len(all) != 1 || all[0] != (Seen{1234, PortAck, "accepted wf_1"}) {
		text, _ := json.Marshal(all)
		t.Errorf("seen %s (%v)", text, err)
	}
}
