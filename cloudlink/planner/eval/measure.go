package eval

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Report is what came out of a measurement; as JSON it is one object.
type Report interface {
	Print(w io.Writer, wrong bool)
}

// Measure measures rows of a kind. Errors are the planner's.
func Measure(ctx context.Context, p Planner, rows []Row, kind Kind) (Report, error) {
	switch kind {
	case Families:
		return MeasureFamilies(ctx, p, rows)
	case Structures:
		return MeasureStructures(ctx, p, rows)
	case TimeValues:
		return MeasureTimes(rows)
	case Dialogs:
		return MeasureDialogs(p, rows)
	case Admissions:
		pair, ok := p.(interface{ Pair() Pair })
		if !ok {
			return nil, errors.New("cannot measure admission of a planner that cannot leave it out")
		}
		return MeasureAdmission(ctx, pair.Pair(), rows)
	}
	return nil, fmt.Errorf("cannot measure %s", kind)
}
