package store

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/agent/clock"
	"deviceagent/bridge"
	"deviceagent/executors"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"

	"github.com/rs/zerolog"
)

// outboxManager runs a Manager over a store on files, with few rows in its outbox, and no robot.
func outboxManager(t *testing.T, path string, clk *clock.Virtual, ids *int) (m *taskmanager.Manager, end func()) {
	t.Helper()
	s := mustOpen(t, path, Options{BallastBytes: -1})
	cat := defaultCatalog()
	reg := executors.New(executors.Options{Log: zerolog.Nop(), Sink: func(ctx context.Context, ev core.Event) error { return m.Send(ctx, ev) }})
	newID := func() string { *ids++; return fmt.Sprintf("0190b000-0000-7000-8000-%012d", *ids) }
	m, err := taskmanager.New(t.Context(), taskmanager.Options{Store: s, Clock: shiftedClock{Virtual: clk}, Executors: reg, Catalog: cat, Log: zerolog.Nop(),
		Codec: lifeCodec{bridge.New(bridge.Options{DeviceID: "rb-1", Catalog: cat, AllowJSON: true, NewID: newID})}, OutboxRows: 300})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{}, 2)
	go func() { _ = m.Run(ctx); ended <- struct{}{} }()
	go func() { _ = reg.Run(ctx); ended <- struct{}{} }()
	synctest.Wait()
	return m, func() {
		stop()
		<-ended
		<-ended
		reg.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Sixty days without a broker, a start each ten days: every report is still there, in order, what had to go is counted, and neither
// memory nor disk has grown beyond the bound.
func TestF38_MonthsWithoutABrokerKeepEveryReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	synctest.Test(t, func(t *testing.T) {
		clk, ids := clock.Package("boot-1"), 0
		m, end := outboxManager(t, path, clk, &ids)
		receive := func(name, kind, body string) core.Answer {
			a, err := m.Receive(t.Context(), []byte(`{"v":"a2a-task-orchestration-v1","type":"`+kind+`","id":"`+idOf(name)+
				`","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":`+body+`}`), taskmanager.FromCloud)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		plan := func(wf, method string) core.Answer {
			return receive("p-"+wf, "plan", `{"workflow":{"cloud_workflow_id":"`+wf+`","plan_id":"pl-`+wf+`","revision":0},
				"device_task_requests":[{"cloud_step_id":"s","taskMethod":"`+method+`","params":{"position":"주방"}}]}`)
		}
		const days, plans, refused = 60, 4, 6
		sent := 0
		for day := range days {
			for i := range plans {
				wf := fmt.Sprintf("wf-%d-%d", day, i)
				if a := plan(wf, "setMoveTo"); !a.Accepted {
					t.Fatalf("day %d: %+v", day, a)
				}
				receive("c-"+wf, "control", `{"verb":"cancel","scope":"workflow","target":"`+wf+`"}`)
				sent += 3
			}
			for i := range refused {
				plan(fmt.Sprintf("bad-%d-%d", day, i), "flyToMoon")
				sent++
			}
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			if f := m.OutboxFacts(); f.Rows > f.MaxRows {
				t.Fatalf("day %d: %d rows, at most %d may wait", day, f.Rows, f.MaxRows)
			}
			if day%10 == 9 {
				end()
				m, end = outboxManager(t, path, clk, &ids)
			}
		}
		defer func() { end() }()
		f := m.OutboxFacts()
		results, last := map[string]bool{}, int64(0)
		for _, row := range m.Pending(sent) {
			if row.Type == "result" {
				results[row.Workflow] = true
			}
			if row.Seq <= last {
				t.Errorf("row %d stands behind %d", row.Seq, last)
			}
			last = row.Seq
		}
		if len(results) != days*plans {
			t.Errorf("%d results, want %d: none may be dropped", len(results), days*plans)
		}
		if int64(sent)-f.Rows != f.Dropped || f.Dropped == 0 {
			t.Errorf("%d messages, %d wait, %d are said to be dropped", sent, f.Rows, f.Dropped)
		}
	})
}
