package running

import (
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// locationKey is the context in which a device says where it is.
const locationKey = "movement.location"

// whereNow tells where the robot is, by what it has said itself: the way that it is on, a fresh context, else the last way that it has come to
// the end of. A robot that was carried since says so by its context alone, so that an old arrival is told as one.
func (r *Runner) whereNow(in turn.Input) turn.Decision {
	d := decided(in, "where", say1(in, "where_unknown"), "progress")
	if v, ok := r.located(in); ok {
		d.TTSResponse = say1(in, "where_known", v)
		return d
	}
	var latest turn.StepNow
	for _, w := range slices.Concat(inOrder(in.Around), in.Around.Ended) {
		for _, q := range w.Plan.Requests {
			now := stepNow(w, q.CloudStepID)
			if !r.cat.Operations[methodOf(q)].MovesBody || now.State == "" {
				continue
			}
			room, known, _ := r.home(in).FindRoom(roomSaid(r.cat, q))
			proof := turn.Workflow{WorkflowID: w.WorkflowID, Steps: []turn.StepNow{now}}
			switch {
			case slices.Contains(acting, now.State) && now.AgeMS < staleMS:
				d.TTSResponse, d.Evidence = say1(in, "now", r.called(in, q)), append(d.Evidence, proofs(proof)...)
				return d
			case slices.Contains(done, now.State) && known && (latest.ID == "" || now.AgeMS < latest.AgeMS):
				latest = now
				d.TTSResponse, d.Evidence = say1(in, "where", roomCalled(room.Name, room.Aliases, localeOf(in))), append(d.Evidence[:1:1], proofs(proof)...)
			case slices.Contains(done, now.State) && (latest.ID == "" || now.AgeMS < latest.AgeMS): // back at the station
				latest = now
				d.TTSResponse, d.Evidence = say1(in, "finished", r.called(in, q)), append(d.Evidence[:1:1], proofs(proof)...)
			case slices.Contains(over, now.State) && now.State != "skipped" && (latest.ID == "" || now.AgeMS < latest.AgeMS): // it has ended somewhere
				latest = now
				d.TTSResponse, d.Evidence = say1(in, "where_unknown"), d.Evidence[:1:1]
			}
		}
	}
	return d
}

// roomSaid is the room that a step names.
func roomSaid(cat *catalog.Catalog, q wire.Request) string {
	said, _ := q.Params[roomParam(cat, q.TaskMethod)].V.(string)
	return said
}

// located is the room that the context of the turn names.
func (r *Runner) located(in turn.Input) (string, bool) {
	if in.Around.Device == nil {
		return "", false
	}
	key := r.cat.Context[locationKey]
	now, ok := in.Around.Device.Keys[locationKey]
	said, isText := now.V.(string)
	room, known, _ := r.home(in).FindRoom(said)
	return roomCalled(room.Name, room.Aliases, localeOf(in)), ok && isText && known && now.AgeMS <= key.MaxAgeMS
}

// before tells what was done last: open work as it stands, else the last plan that has ended, by its result.
func (r *Runner) before(in turn.Input) turn.Decision {
	d := r.allEnded(in)
	if d.SpeechAct == Done {
		d.TTSResponse = say1(in, "finished", r.asked(in, in.Around.Ended[0]))
	}
	return d
}
