package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// suspect are refusals of messages that the planner of this robot does not send: somebody else publishes at the broker, or keeps messages
// and plays them again. After the loss of a store the planner's own may be among those of another epoch.
var suspect = map[core.Reason]bool{wire.ReasonSignature: true, core.ReasonWrongDevice: true, core.ReasonWrongEpoch: true,
	wire.ReasonMalformed: true, wire.ReasonTooLarge: true}

// Bounds of the lines about them.
const (
	refusedLines  = 5
	refusedPeriod = time.Minute
)

// Of messages that nobody can read copies are kept, so that somebody can see what came: 20 a day, 100 in all, the first 4 KiB of each.
// Source: docs/contract.md, repeats.
const (
	refusedFolder = "refused"
	refusedADay   = 20
	refusedInAll  = 100
	refusedBytes  = 4 << 10
)

// refused counts them, and tells of them: in the log, which whoever sends many cannot fill, and in the warnings.
type refused struct {
	log zerolog.Logger

	dir string // of the copies

	mu     sync.Mutex
	counts map[core.Reason]int64
	since  time.Time // of the day under way
	today  int       // copies made since then
}

func newRefused(stateDir string, log zerolog.Logger) *refused {
	return &refused{dir: filepath.Join(stateDir, refusedFolder), log: log.Sample(&zerolog.BurstSampler{Burst: refusedLines, Period: refusedPeriod}), counts: map[core.Reason]int64{}}
}

// note takes the answer to a message from the cloud.
func (r *refused) note(ans core.Answer, payload []byte) {
	if ans.Accepted || !suspect[ans.Reason] {
		return
	}
	size := len(payload)
	r.mu.Lock()
	r.counts[ans.Reason]++
	n := r.counts[ans.Reason]
	if ans.RefSHA256 != "" {
		r.keep(payload)
	}
	r.mu.Unlock()
	r.log.Warn().Str("reason_code", string(ans.Reason)).Str("ref_id", string(ans.Ref)).Str("ref_sha256", ans.RefSHA256).Int("size_bytes", size).
		Int64("count", n).Msg("message from the cloud refused")
}

// keep writes a copy, unless the day has enough of them, or it is there. What cannot be written is only counted.
func (r *refused) keep(payload []byte) {
	if r.since.IsZero() || time.Since(r.since) >= 24*time.Hour {
		r.since, r.today = time.Now(), 0
	}
	sum := sha256.Sum256(payload)
	path := filepath.Join(r.dir, hex.EncodeToString(sum[:8])+".bin")
	if _, err := os.Lstat(path); err == nil || r.today >= refusedADay || os.MkdirAll(r.dir, 0o700) != nil {
		return
	}
	if os.WriteFile(path, payload[:min(len(payload), refusedBytes)], 0o600) == nil {
		r.today++
	}
	r.trim()
}

// trim removes the oldest copies beyond the bound.
func (r *refused) trim() {
	entries, err := os.ReadDir(r.dir)
	if err != nil || len(entries) <= refusedInAll {
		return
	}
	age := func(e os.DirEntry) time.Time {
		if info, err := e.Info(); err == nil {
			return info.ModTime()
		}
		return time.Time{}
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return age(a).Compare(age(b)) })
	for _, e := range entries[:len(entries)-refusedInAll] {
		_ = os.Remove(filepath.Join(r.dir, e.Name()))
	}
}

// forget removes the copies.
func (r *refused) forget() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return os.RemoveAll(r.dir)
}

// warning sums them up; "": there were none. dropped are those that the link did not take.
func (r *refused) warning(dropped int64) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := dropped
	var by []string
	for _, reason := range slices.Sorted(maps.Keys(r.counts)) {
		sum += r.counts[reason]
		by = append(by, fmt.Sprintf("%s %d", reason, r.counts[reason]))
	}
	if dropped > 0 {
		by = append(by, fmt.Sprintf("dropped %d", dropped))
	}
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf("since the start %d messages came that this robot's planner does not send (%s)", sum, strings.Join(by, ", "))
}
