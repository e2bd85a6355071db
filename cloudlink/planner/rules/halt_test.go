package rules

import "testing"

// Who wants the robot to stop says where as well: that it is to stop where it is adds nothing, and must not hide the stop.
func TestStopsThatSayWhere(t *testing.T) {
	p := planner(t)
	for _, said := range []string{"그 자리에서 멈춰", "그 자리에 멈춰 줘", "제자리에서 멈춰", "제자리에 서", "거기서 멈춰", "거기 서 봐", "지금 그 자리에서 정지해"} {
		if d := plan(t, p, said); len(d.Steps) != 1 || d.Steps[0].TaskMethod != "stopMovement" {
			t.Errorf("%s: %s %v %q", said, d.OwnerSelection, d.Steps, d.TTSResponse)
		}
	}
}
