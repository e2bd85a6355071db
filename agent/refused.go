package agent

import (
	"fmt"
	"maps"
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

// refused counts them, and tells of them: in the log, which whoever sends many cannot fill, and in the warnings.
type refused struct {
	log zerolog.Logger

	mu     sync.Mutex
	counts map[core.Reason]int64
}

func newRefused(log zerolog.Logger) *refused {
	return &refused{log: log.Sample(&zerolog.BurstSampler{Burst: refusedLines, Period: refusedPeriod}), counts: map[core.Reason]int64{}}
}

// note takes the answer to a message from the cloud. size is that of the message in bytes.
func (r *refused) note(ans core.Answer, size int) {
	if ans.Accepted || !suspect[ans.Reason] {
		return
	}
	r.mu.Lock()
	r.counts[ans.Reason]++
	n := r.counts[ans.Reason]
	r.mu.Unlock()
	r.log.Warn().Str("reason_code", string(ans.Reason)).Str("ref_id", string(ans.Ref)).Str("ref_sha256", ans.RefSHA256).Int("size_bytes", size).
		Int64("count", n).Msg("message from the cloud refused")
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
