package robot

import (
	"fmt"
	"io"
	"sync"

	"deviceagent/testbed/home"
)

// lines tells people what happens, one line a happening, with the simulated time before it.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) printf(format string, args ...any) {
	if l.w == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, "robot: "+format+"\n", args...)
}

func (l *lines) entry(e home.Entry) {
	if tell, ok := told[e.Kind]; ok {
		l.printf("%8.1fs  %s", float64(e.TMS)/1000, tell(e))
	}
}

// told is what people want to see; the log has the rest.
var told = map[home.Kind]func(home.Entry) string{
	home.KindInvoke:        func(e home.Entry) string { return fmt.Sprintf("asked for %s %v  (%s)", e.Method, e.Params, e.TaskID) },
	home.KindRefused:       func(e home.Entry) string { return "refuses: " + e.Reason },
	home.KindMotionStart:   func(e home.Entry) string { return "drives to " + e.Room },
	home.KindMotionPause:   func(e home.Entry) string { return "pauses in " + e.Room },
	home.KindMotionResume:  func(home.Entry) string { return "drives on" },
	home.KindMotionEnd:     func(e home.Entry) string { return e.Reason + " in " + e.Room },
	home.KindCleaningStart: func(e home.Entry) string { return "cleans the air of " + e.Room },
	home.KindCleaningPause: func(home.Entry) string { return "pauses the cleaning" },
	home.KindCleaningGoOn:  func(home.Entry) string { return "cleans on" },
	home.KindCleaningEnd:   func(e home.Entry) string { return "cleaning " + e.Reason + " in " + e.Room },
	home.KindPush:          func(e home.Entry) string { return "is pushed to " + e.Room },
	home.KindSpoken:        func(e home.Entry) string { return fmt.Sprintf("said %q", e.Text) },
	home.KindSetting:       func(e home.Entry) string { return fmt.Sprintf("%s %v", e.Method, e.Params) },
	home.KindStop:          func(e home.Entry) string { return "is told to stop: " + e.Method },
	home.KindCancel:        func(e home.Entry) string { return "is told to cancel " + e.TaskID },
	home.KindPause:         func(e home.Entry) string { return "is told to pause " + e.TaskID },
	home.KindResume:        func(e home.Entry) string { return "is told to resume " + e.TaskID },
	home.KindButton:        func(e home.Entry) string { return "button: " + e.Text },
	home.KindHeard:         func(e home.Entry) string { return fmt.Sprintf("hears %q", e.Text) },
}
