package store

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
)

// sector is what a disk writes whole; a write beyond one sector may be torn at each of them.
const sector = 512

// platter is a disk as a tape fills it: what is safe, and what a power cut may take.
type platter struct {
	files []*platterFile
	names map[string]int // safe ones
	moved []diskOp       // changes of names that no sync of the directory has made safe, in order: a file system keeps their order
}

type platterFile struct {
	safe   []byte
	unsafe []diskOp // writes and truncates since the last sync
}

func newPlatter(t *tape) *platter {
	p := &platter{names: maps.Clone(t.old)}
	for name, data := range t.base {
		p.file(t.old[name]).safe = data
	}
	return p
}

func (p *platter) file(n int) *platterFile {
	for len(p.files) <= n {
		p.files = append(p.files, &platterFile{})
	}
	return p.files[n]
}

// play carries out one operation of a tape.
func (p *platter) play(op diskOp) {
	switch op.what {
	case "create", "rename", "remove":
		p.file(op.file)
		p.moved = append(p.moved, op)
	case "sync names":
		p.names, p.moved = renamed(p.names, p.moved), nil
	case "write", "truncate":
		f := p.file(op.file)
		f.unsafe = append(f.unsafe, op)
	case "sync":
		f := p.file(op.file)
		f.safe, f.unsafe = inOrder(f.safe, f.unsafe), nil
	}
}

func renamed(names map[string]int, ops []diskOp) map[string]int {
	names = maps.Clone(names)
	for _, op := range ops {
		switch op.what {
		case "create":
			names[op.name] = op.file
		case "rename":
			delete(names, op.name)
			names[op.to] = op.file
		case "remove":
			delete(names, op.name)
		}
	}
	return names
}

// inOrder is a file's content after operations that all took place.
func inOrder(data []byte, ops []diskOp) []byte {
	if len(ops) == 0 {
		return data
	}
	data = bytes.Clone(data)
	for _, op := range ops {
		if op.what == "truncate" {
			data = sized(data, int(op.at))
		} else {
			data = written(data, int(op.at), op.data)
		}
	}
	return data
}

func sized(data []byte, n int) []byte {
	if n <= len(data) {
		return data[:n]
	}
	return append(data, make([]byte, n-len(data))...)
}

func written(data []byte, at int, what []byte) []byte {
	data = sized(data, max(len(data), at+len(what)))
	copy(data[at:], what)
	return data
}

// fate is what the cut does to what no sync has made safe.
type fate string

// The fates. Torn ones are of a write that is under way: of it come the first sectors (pages) only.
const (
	lost      fate = "lost"
	kept      fate = "kept"
	someKept  fate = "some kept" // any set of sectors, each as it was after any number of the writes to it
	tornPage  fate = "torn at a page"
	tornAny   fate = "torn at a sector"
	tornWorse fate = "torn, and the rest some"
)

// whole and torn are the fates of a cut after an operation and in the middle of a write.
var (
	whole = []fate{lost, kept, someKept}
	torn  = []fate{tornPage, tornAny, tornWorse}
)

// cut is the disk after the power was cut. Of a torn write, last is what had begun.
func (p *platter) cut(rng *rand.Rand, f fate, last *diskOp) image {
	moved := len(p.moved)
	switch f {
	case lost:
		moved = 0
	case someKept, tornWorse:
		moved = rng.IntN(moved + 1)
	}
	img := image{}
	for name, n := range renamed(p.names, p.moved[:moved]) {
		file := p.files[n]
		var data []byte
		switch f {
		case lost:
			data = file.safe
		case someKept, tornWorse:
			data = some(rng, file.safe, file.unsafe)
		default:
			data = inOrder(file.safe, file.unsafe)
		}
		if last != nil && last.file == n {
			unit := sector
			if f == tornPage {
				unit = pageSize
			}
			data = written(bytes.Clone(data), int(last.at), last.data[:tear(rng, *last, unit)])
		}
		img[name] = data
	}
	return img
}

// tear is how much of a write comes to the disk: up to a bound of a unit within it, if it has one.
func tear(rng *rand.Rand, op diskOp, unit int) int {
	first := unit - int(op.at)%unit
	if first >= len(op.data) {
		return 0
	}
	n := (len(op.data)-first-1)/unit + 1 // bounds within it
	return first + unit*rng.IntN(n)
}

// some keeps any set of sectors of what was written, each as it was after some number of the writes to it. A truncate ends the
// freedom: then it is a beginning of the operations.
func some(rng *rand.Rand, data []byte, ops []diskOp) []byte {
	if slices.ContainsFunc(ops, func(op diskOp) bool { return op.what == "truncate" }) {
		return inOrder(data, ops[:rng.IntN(len(ops)+1)])
	}
	writes := map[int]int{} // to each sector
	for _, op := range ops {
		for s := int(op.at) / sector; s*sector < int(op.at)+len(op.data); s++ {
			writes[s]++
		}
	}
	share := []float64{0.03, 0.5, 0.97}[rng.IntN(3)] // of the sectors that keep something
	keep := map[int]int{}
	for _, s := range slices.Sorted(maps.Keys(writes)) {
		if rng.Float64() < share {
			keep[s] = 1 + rng.IntN(writes[s])
			if share > 0.5 {
				keep[s] = writes[s]
			}
		}
	}
	data = bytes.Clone(data)
	for _, op := range ops {
		for s := int(op.at) / sector; s*sector < int(op.at)+len(op.data); s++ {
			if keep[s] == 0 {
				continue
			}
			keep[s]--
			from, to := max(s*sector, int(op.at)), min((s+1)*sector, int(op.at)+len(op.data))
			data = written(data, from, op.data[from-int(op.at):to-int(op.at)])
		}
	}
	return data
}
