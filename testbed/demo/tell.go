package demo

import (
	"fmt"
	"io"
	"time"
)

// teller writes lines for people: when, who, what. Only the owner of the demo uses it.
type teller struct {
	w     io.Writer
	began time.Time // when the sentence was said; zero before
}

// say writes one line about one of the parts.
func (t *teller) say(who, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != "" {
		fmt.Fprintf(t.w, "%7s  %-8s  %s\n", t.clock(), who, text)
	}
}

// note writes a line about the demo itself.
func (t *teller) note(format string, args ...any) { fmt.Fprintf(t.w, format+"\n", args...) }

func (t *teller) clock() string {
	if t.began.IsZero() {
		return ""
	}
	return fmt.Sprintf("%.1f s", time.Since(t.began).Seconds())
}
