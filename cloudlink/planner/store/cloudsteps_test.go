package store

import (
	"errors"
	"testing"
)

// A step is kept once, whatever comes again, and what is due, awake and told is found by that alone.
func TestCloudSteps(t *testing.T) {
	s := fresh(t)
	step := func(task, state string, due, wake int64) CloudStep {
		return CloudStep{DeviceID: "rb-1", TaskID: task, WorkflowID: "wf_1", StepID: "s1", Skill: "content_session", SessionID: task, Inputs: []byte("{}"), State: state, DueAt: due, WakeAt: wake, EndsAt: due + 5}
	}
	update(t, s, func(tx *Tx) error {
		for _, c := range []CloudStep{step("t-3", "due", 30, 0), step("t-1", "due", 10, 0), step("t-2", "telling", 20, 100), step("t-4", "telling", 40, 0), step("t-5", "answered", 50, 0)} {
			if isNew, err := tx.AddCloudStep(c); err != nil || !isNew {
				t.Errorf("%s: new %v, %v", c.TaskID, isNew, err)
			}
		}
		again := step("t-1", "answered", 99, 0)
		isNew, err := tx.AddCloudStep(again)
		if isNew {
			t.Error("a repeat is new")
		}
		return err
	})
	list := func(name string, want []string, ask func(tx *Tx) ([]CloudStep, error)) {
		t.Helper()
		update(t, s, func(tx *Tx) error {
			got, err := ask(tx)
			var ids []string
			for _, c := range got {
				ids = append(ids, c.TaskID)
			}
			if len(ids) != len(want) {
				t.Errorf("%s: %v, want %v", name, ids, want)
				return err
			}
			for i := range ids {
				if ids[i] != want[i] {
					t.Errorf("%s: %v, want %v", name, ids, want)
				}
			}
			return err
		})
	}
	list("due", []string{"t-1", "t-3"}, func(tx *Tx) ([]CloudStep, error) { return tx.CloudStepsDue(10) })
	list("due, one", []string{"t-1"}, func(tx *Tx) ([]CloudStep, error) { return tx.CloudStepsDue(1) })
	list("not awake yet", nil, func(tx *Tx) ([]CloudStep, error) { return tx.CloudStepsAwake(99, 10) })
	list("awake", []string{"t-2"}, func(tx *Tx) ([]CloudStep, error) { return tx.CloudStepsAwake(100, 10) })
	list("sessions, latest first", []string{"t-4", "t-2"}, func(tx *Tx) ([]CloudStep, error) { return tx.SessionsOf("rb-1", 9) })
	list("of another home", nil, func(tx *Tx) ([]CloudStep, error) { return tx.SessionsOf("rb-2", 9) })
	list("of the workflow", []string{"t-1", "t-2", "t-3", "t-4", "t-5"}, func(tx *Tx) ([]CloudStep, error) { return tx.CloudStepsOf("rb-1", "wf_1") })
	update(t, s, func(tx *Tx) error {
		c, err := tx.CloudStep("rb-1", "t-1")
		if err != nil || c.DueAt != 10 || c.State != "due" {
			t.Errorf("%+v, %v", c, err)
		}
		c.State, c.Talk, c.EndedAt, c.ReasonCode = "answered", []byte("{}"), 60, "source_late"
		if err := tx.PutCloudStep(c); err != nil {
			return err
		}
		if got, err := tx.CloudStep("rb-1", "t-1"); err != nil || got.ReasonCode != "source_late" || string(got.Talk) != "{}" || got.EndsAt != 15 {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := tx.CloudStep("rb-2", "t-1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("a step of another home: %v", err)
		}
		c.TaskID = "t-9"
		if err := tx.PutCloudStep(c); !errors.Is(err, ErrNotFound) {
			t.Errorf("a step that is not there was changed: %v", err)
		}
		return nil
	})
}

// What the agents remember is of one home, goes when somebody wants it gone, and when its device was not seen for long; so do old steps.
func TestAgentMemory(t *testing.T) {
	s := fresh(t)
	update(t, s, func(tx *Tx) error {
		for _, id := range []string{"rb-1", "rb-2", "rb-3"} {
			if err := errors.Join(tx.PutAgentMemory(id, []byte("old")), tx.PutAgentMemory(id, []byte(id))); err != nil {
				return err
			}
		}
		if err := errors.Join(tx.PutDevice(Device{ID: "rb-1", SeenAt: 1000}), tx.PutDevice(Device{ID: "rb-2", SeenAt: 1000}), tx.EraseAgentMemory("rb-2")); err != nil {
			return err
		}
		if _, err := tx.AddCloudStep(CloudStep{DeviceID: "rb-1", TaskID: "t-1", Inputs: []byte("{}"), State: "answered", DueAt: 10}); err != nil {
			return err
		}
		_, err := tx.PruneRecords(500, 10)
		return err
	})
	update(t, s, func(tx *Tx) error {
		for id, want := range map[string]string{"rb-1": "rb-1", "rb-2": "", "rb-3": ""} {
			if got, err := tx.AgentMemory(id); err != nil || string(got) != want {
				t.Errorf("%s: %q, %v, want %q", id, got, err, want)
			}
		}
		if _, err := tx.CloudStep("rb-1", "t-1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("an old step is still there: %v", err)
		}
		return nil
	})
}
