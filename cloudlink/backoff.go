package cloudlink

import "time"

// Bounds of the wait between two dials. Source: docs/contract.md, section 1.
const (
	backoffFirst = time.Second
	backoffMost  = time.Minute
	// backoffLeast keeps full jitter from drawing "at once" again and again.
	backoffLeast = 100 * time.Millisecond
)

// backoff is full jitter: a random part of a bound that doubles, so that a fleet that lost its broker does not come back as one.
type backoff struct{ tries int }

// next is the wait before the next dial; r is random, 0 ≤ r < 1.
func (b *backoff) next(r float64) time.Duration {
	bound := backoffMost
	if b.tries < 6 { // 1 s << 6 is over a minute
		bound = min(bound, backoffFirst<<b.tries)
	}
	b.tries++
	return max(backoffLeast, time.Duration(r*float64(bound)))
}

func (b *backoff) reset() { b.tries = 0 }
