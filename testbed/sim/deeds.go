package sim

import (
	"container/heap"
	"hash/fnv"
	"math/rand/v2"
)

// dice is a random source of its own for each named decision: leaving one out changes nothing of the others.
type dice struct{ *rand.Rand }

func (d dice) coin() bool                 { return d.IntN(2) == 0 }
func (d dice) oneIn(n int) bool           { return d.IntN(n) == 0 }
func (d dice) between(lo, hi int64) int64 { return lo + d.Int64N(hi-lo+1) }

func (m *home) stream(name string) dice {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return dice{rand.New(rand.NewPCG(m.seed, h.Sum64()))}
}

// whim is a small decision that has no name: it hangs on the moment alone.
func (m *home) whim(n, salt int) int {
	x := m.seed ^ uint64(m.T)*0x9e3779b97f4a7c15 ^ uint64(salt)*0xbf58476d1ce4e5b9
	x ^= x >> 31
	x *= 0x94d049bb133111eb
	x ^= x >> 29
	return int(x % uint64(n))
}

// happens says whether a named decision is made: not where it is left out, nor once nothing goes wrong any more.
func (m *home) happens(name string) bool {
	if m.calm || m.without[name] {
		return false
	}
	if m.keep {
		m.named = append(m.named, name)
	}
	return true
}

// queue is what is going to happen.
type queue []coming
type coming struct {
	at    int64
	order int
	do    func()
}

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(coming)) }
func (q *queue) Pop() any {
	x := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return x
}
func (q *queue) next() coming { return heap.Pop(q).(coming) }

func (m *home) at(after int64, do func()) {
	m.order++
	heap.Push(&m.queue, coming{m.T + after, m.order, do})
}
