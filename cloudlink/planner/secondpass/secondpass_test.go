package secondpass

import (
	"testing"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

func TestNeed(t *testing.T) {
	weak := &turn.Trace{Object: turn.ObjectMeta{Type: turn.UnknownObject}, Reply: turn.ReplyMeta{Type: turn.Uncertain}}
	public := &turn.Trace{Hints: turn.Hints{HasFRGScope: true}, Object: turn.ObjectMeta{Type: turn.PublicEntity}}
	for _, tc := range []struct {
		name   string
		d      turn.Decision
		before *turn.Trace
		pair   string
	}{
		{"asked for, of a pair", turn.Decision{OwnerSelection: turn.DEF, RunnerUpFamily: turn.FRG, NeedsSecondPass: true}, nil, "DEF FRG"},
		{"asked for, the other way round", turn.Decision{OwnerSelection: turn.FRG, RunnerUpFamily: turn.STTNull, NeedsSecondPass: true}, nil, "STT_NULL FRG"},
		{"asked for, of no pair", turn.Decision{OwnerSelection: turn.DEF, RunnerUpFamily: turn.ODL, NeedsSecondPass: true}, nil, ""},
		{"not asked for", turn.Decision{OwnerSelection: turn.DEF, RunnerUpFamily: turn.FRG}, nil, ""},
		{"another owner", turn.Decision{OwnerSelection: turn.DQR, RunnerUpFamily: turn.DEF, NeedsSecondPass: true}, public, ""},
		{"no object, no shape", turn.Decision{OwnerSelection: turn.DEF, FamilyConfidence: "medium"}, weak, "DEF STT_NULL"},
		{"no object, and certain", turn.Decision{OwnerSelection: turn.STTNull, FamilyConfidence: "high"}, weak, ""},
		{"a public signal is left", turn.Decision{OwnerSelection: turn.DEF, RunnerUpFamily: turn.STTNull, NeedsSecondPass: true}, public, "DEF FRG"},
		{"a public signal is left of noise", turn.Decision{OwnerSelection: turn.STTNull, FamilyConfidence: "high"}, public, "STT_NULL FRG"},
		{"steps", turn.Decision{OwnerSelection: turn.FRG, RunnerUpFamily: turn.DEF, NeedsSecondPass: true, Steps: []turn.Step{{}}}, public, ""},
		{"a control", turn.Decision{OwnerSelection: turn.DEF, RunnerUpFamily: turn.FRG, NeedsSecondPass: true, Control: &wire.Control{}}, public, ""},
		{"a schedule", turn.Decision{OwnerSelection: turn.DEF, RunnerUpFamily: turn.FRG, NeedsSecondPass: true, Schedule: &turn.ScheduleWish{}}, public, ""},
		{"it asks by itself", turn.Decision{OwnerSelection: turn.DEF, RunnerUpFamily: turn.FRG, NeedsSecondPass: true, AskFollowUp: true}, public, ""},
	} {
		got, n := "", Need(tc.d, tc.before)
		if n.Opens {
			got = string(n.Pair[0]) + " " + string(n.Pair[1])
		}
		if got != tc.pair || n.Reason == "" {
			t.Errorf("%s: %+v, want %q", tc.name, n, tc.pair)
		}
	}
}

// TestJudge: the answer is one of the two families, and without evidence the first pass stands.
func TestJudge(t *testing.T) {
	song := []turn.Match{{ID: "music_playback", Span: "노래"}}
	for _, tc := range []struct {
		name        string
		owner, with turn.Family
		before      turn.Trace
		want        turn.Family
	}{
		{"a thing that is asked for", turn.DEF, turn.FRG, turn.Trace{Hints: turn.Hints{PublicMatches: song, HasFRGScope: true}}, turn.FRG},
		{"a thing in a question about something else", turn.DEF, turn.FRG, turn.Trace{Hints: turn.Hints{PublicMatches: song, HasPublicRecommendationCue: true}}, turn.DEF},
		{"a thing that is only told of", turn.DEF, turn.FRG, turn.Trace{Hints: turn.Hints{PublicMatches: song}}, turn.DEF},
		{"taste", turn.FRG, turn.DEF, turn.Trace{Hints: turn.Hints{HasSelfTarget: true, HasPublicRecommendationCue: true, PublicMatches: song}}, turn.DEF},
		{"nothing named", turn.FRG, turn.DEF, turn.Trace{Object: turn.ObjectMeta{Type: turn.OutsideOption}}, turn.DEF},
		{"noise that names a thing", turn.STTNull, turn.FRG, turn.Trace{Hints: turn.Hints{PublicMatches: song, HasPublicRecommendationCue: true, HasDeviceActionCueSurface: true}}, turn.FRG},
		{"a title that nobody knows", turn.STTNull, turn.FRG, turn.Trace{}, turn.STTNull},
		{"a reply can begin", turn.STTNull, turn.DEF, turn.Trace{Reply: turn.ReplyMeta{Type: turn.BoundedReply, Reason: "plain"}}, turn.DEF},
		{"nothing can be replied to", turn.DEF, turn.STTNull, turn.Trace{Reply: turn.ReplyMeta{Type: turn.IntentRepair, Reason: "a fragment"}}, turn.STTNull},
		{"nobody knows", turn.DEF, turn.STTNull, turn.Trace{Reply: turn.ReplyMeta{Type: turn.Uncertain}}, turn.DEF},
	} {
		d := turn.Decision{OwnerSelection: tc.owner, RunnerUpFamily: tc.with, NeedsSecondPass: true}
		s := Judge(d, Need(d, nil), &tc.before)
		if s.Family != tc.want || s.Changed != (tc.want != tc.owner) || s.Family != tc.owner && s.Family != tc.with || s.Reason == "" {
			t.Errorf("%s: %+v, want %s", tc.name, s, tc.want)
		}
	}
}
