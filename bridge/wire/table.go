package wire

import "reflect"

// bodyKind is one row of the table of bodies.
type bodyKind struct {
	dir   Direction
	shape *shape
	alloc func(*Envelope) any // sets the body of that type and returns a pointer to it
	get   func(*Envelope) any // the body of that type, nil if it is not set
}

func row[T any](dir Direction, s *shaper, slot func(*Envelope) **T) bodyKind {
	return bodyKind{
		dir:   dir,
		shape: s.of(reflect.TypeFor[T](), rule{}),
		alloc: func(e *Envelope) any { p := new(T); *slot(e) = p; return p },
		get: func(e *Envelope) any {
			if p := *slot(e); p != nil {
				return p
			}
			return nil
		},
	}
}

// bodies are the types that this agent reads and writes.
var bodies, envelopeShape = func() (map[Type]bodyKind, *shape) {
	s := &shaper{structs: map[reflect.Type]*object{}}
	return map[Type]bodyKind{
		TypePlan:       row(Down, s, func(e *Envelope) **Plan { return &e.Plan }),
		TypeControl:    row(Down, s, func(e *Envelope) **Control { return &e.Control }),
		TypeStepResult: row(Down, s, func(e *Envelope) **StepResult { return &e.StepResult }),
		TypeReceipt:    row(Down, s, func(e *Envelope) **Receipt { return &e.Receipt }),
		TypeAck:        row(Up, s, func(e *Envelope) **Ack { return &e.Ack }),
		TypeResult:     row(Up, s, func(e *Envelope) **Result { return &e.Result }),
		TypeStepDue:    row(Up, s, func(e *Envelope) **StepDue { return &e.StepDue }),
		TypeStatus:     row(Up, s, func(e *Envelope) **Status { return &e.Status }),
		TypeDecision:   row(Down, s, func(e *Envelope) **Decision { return &e.Decision }),
		TypeEscalation: row(Up, s, func(e *Envelope) **Escalation { return &e.Escalation }),
		TypeMonitor:    row(Down, s, func(e *Envelope) **Monitor { return &e.Monitor }),
		TypeContent:    row(bothWays, s, func(e *Envelope) **Content { return &e.Content }),
		TypeTelemetry:  row(Up, s, func(e *Envelope) **Telemetry { return &e.Telemetry }),
		TypeQuestion:   row(Up, s, func(e *Envelope) **Question { return &e.Question }),
		TypeAnswer:     row(Down, s, func(e *Envelope) **Answer { return &e.Answer }),
	}, s.of(reflect.TypeFor[Envelope](), rule{})
}()
