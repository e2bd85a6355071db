package linkfault

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"github.com/google/uuid"

	"deviceagent/bridge/wire"
)

// skills carries out the cloud's steps, which the planner itself cannot: it reads from the planner's store what is due, and sends the
// outcome as the planner would, again and again until the robot's answer is in that store.
type skills struct {
	client mqtt.Client
	db     *sql.DB
	stop   chan struct{}
	ended  chan error

	duesTo, acksTo int64 // rows of the store that were read
	open           map[string]*outcome
}

// outcome is one that has no answer yet.
type outcome struct {
	topic string
	data  []byte
	sent  time.Time
}

// outcomeAgain is the wait before an outcome is sent again.
const outcomeAgain = 500 * time.Millisecond

func newSkills(addr, path string) *skills {
	s := &skills{stop: make(chan struct{}), ended: make(chan error, 1), open: map[string]*outcome{}}
	s.client = mqtt.NewClient(beside(addr, "planner"))
	s.client.Connect()
	go func() { s.ended <- s.run(path) }()
	return s
}

func (s *skills) close() error {
	close(s.stop)
	s.client.Disconnect(0)
	return <-s.ended
}

func (s *skills) run(path string) (err error) {
	defer func() {
		if s.db != nil {
			err = errors.Join(err, s.db.Close())
		}
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return err
		case <-tick.C:
		}
		if err = s.look(path); err != nil {
			err = fmt.Errorf("the cloud's steps: %w", err) // the planner may be about to make its store: the last error counts
			continue
		}
		for _, o := range s.open {
			if time.Since(o.sent) > outcomeAgain && s.client.IsConnectionOpen() {
				o.sent = time.Now()
				s.client.Publish(o.topic, 1, false, o.data)
			}
		}
	}
}

// look reads what is new in the planner's store.
func (s *skills) look(path string) (err error) {
	if s.db == nil {
		if s.db, err = sql.Open("sqlite", "file:"+path+"?mode=ro"); err != nil {
			return err
		}
	}
	err = each(s.db, fmt.Sprintf(`SELECT row, device_id, workflow_id, epoch, payload FROM messages WHERE type = 'step_due' AND fault = '' AND row > %d ORDER BY row`, s.duesTo), func(scan func(...any) error) error {
		var row int64
		var device, workflow, epoch string
		var payload []byte
		if err := scan(&row, &device, &workflow, &epoch, &payload); err != nil {
			return err
		}
		s.duesTo = row
		return s.carryOut(device, workflow, epoch, payload)
	})
	return errors.Join(err, each(s.db, fmt.Sprintf(`SELECT row, ref_id FROM messages WHERE type = 'ack' AND row > %d ORDER BY row`, s.acksTo), func(scan func(...any) error) error {
		var ref string
		err := scan(&s.acksTo, &ref)
		delete(s.open, ref)
		return err
	}))
}

func (s *skills) carryOut(device, workflow, epoch string, payload []byte) error {
	due, err := wire.Decode(payload, wire.Options{Direction: wire.Up})
	if err != nil {
		return fmt.Errorf("a step_due of %s cannot be read: %w", workflow, err)
	}
	e := wire.Envelope{V: wire.Version, Type: wire.TypeStepResult, ID: uuid.Must(uuid.NewV7()).String(), DeviceID: device, StoreEpoch: epoch,
		SentAt: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), Corr: due.Corr,
		StepResult: &wire.StepResult{CloudStepID: due.StepDue.CloudStepID, TaskID: due.StepDue.TaskID, Status: "completed"}}
	data, err := wire.Encode(e, wire.CBOR)
	if err != nil {
		return err
	}
	s.open[e.ID] = &outcome{topic: "deviceagent/v1/" + device + "/down/step_result", data: data}
	return nil
}
