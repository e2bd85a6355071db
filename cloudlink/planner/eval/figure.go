package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
)

// Ratio is a share: Right of Of. As JSON it is a number from 0 to 1, null where Of is 0.
type Ratio struct{ Right, Of int }

func (r *Ratio) add(right bool) {
	r.Of++
	if right {
		r.Right++
	}
}

// Value is the share, 0 where there is none.
func (r Ratio) Value() float64 {
	if r.Of == 0 {
		return 0
	}
	return float64(r.Right) / float64(r.Of)
}

// MarshalJSON rounds to four places: nobody measures finer with a few hundred rows.
func (r Ratio) MarshalJSON() ([]byte, error) {
	if r.Of == 0 {
		return []byte("null"), nil
	}
	return fmt.Appendf(nil, "%.4f", r.Value()), nil
}

func (r Ratio) String() string {
	if r.Of == 0 {
		return "n/a"
	}
	return fmt.Sprintf("%d/%d = %.1f %%", r.Right, r.Of, 100*r.Value())
}

// Interval is where the share lies with 95 % certainty, by Wilson: it also holds for few rows and for shares near 1. ok is false over nothing.
func (r Ratio) Interval() (low, high float64, ok bool) {
	if r.Of == 0 {
		return 0, 0, false
	}
	const z = 1.959964
	n, p := float64(r.Of), r.Value()
	mid, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, (mid-half)/(1+z*z/n)), min(1, (mid+half)/(1+z*z/n)), true
}

// within is the interval as JSON shows it: null over nothing.
func (r Ratio) within() []float64 {
	low, high, ok := r.Interval()
	if !ok {
		return nil
	}
	return []float64{math.Round(low*1e4) / 1e4, math.Round(high*1e4) / 1e4}
}

// Between is the share with its interval, for people.
func (r Ratio) Between() string {
	low, high, ok := r.Interval()
	if !ok {
		return "n/a"
	}
	return fmt.Sprintf("%s (%.1f to %.1f)", r, 100*low, 100*high)
}

// Score is how one label was found: precision is over what was decided so, recall over what is labelled so.
type Score struct{ Hits, Decided, Labelled int }

// F1 is the harmonic mean of precision and recall; ok is false where the label is neither given nor decided.
func (s Score) F1() (f1 float64, ok bool) {
	if s.Decided+s.Labelled == 0 {
		return 0, false
	}
	return 2 * float64(s.Hits) / float64(s.Decided+s.Labelled), true
}

// MarshalJSON writes rows (labelled), hits, decided, precision, recall and f1.
func (s Score) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"rows": s.Labelled, "decided": s.Decided, "hits": s.Hits,
		"precision": Ratio{s.Hits, s.Decided}, "recall": Ratio{s.Hits, s.Labelled}, "f1": Ratio{2 * s.Hits, s.Decided + s.Labelled}})
}

func (s Score) String() string {
	return fmt.Sprintf("precision %s, recall %s", Ratio{s.Hits, s.Decided}, Ratio{s.Hits, s.Labelled})
}

// macro is the mean F1 of the labels that have rows.
func macro(scores map[string]*Score) float64 {
	sum, n := 0.0, 0
	for _, s := range scores {
		if f1, ok := s.F1(); ok && s.Labelled > 0 {
			sum, n = sum+f1, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// Times are the durations of turns, in ms.
type Times struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func timesOf(took []time.Duration) Times {
	if len(took) == 0 {
		return Times{}
	}
	slices.Sort(took)
	at := func(percent int) float64 {
		return float64(took[min(len(took)-1, len(took)*percent/100)].Microseconds()) / 1000
	}
	return Times{at(50), at(95), at(99), at(100)}
}
