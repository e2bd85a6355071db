package agents

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is told from outside, in letters.
const (
	titleRunes  = 120
	spokenRunes = 400
)

// clean makes plain words of strangers' text: no markup, no control, direction or invisible characters, single spaces, at most most
// letters. What is left is only ever told.
func clean(text string, most int) string {
	text = html.UnescapeString(untagged(html.UnescapeString(untagged(text))))
	var out strings.Builder
	space, n := false, 0
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			space = true
			continue
		case r == utf8.RuneError || !unicode.IsPrint(r) || r == '<' || r == '>' || r == '`':
			continue
		}
		if n >= most-1 {
			return strings.TrimRight(out.String(), " ,.") + "…"
		}
		if space && out.Len() > 0 {
			out.WriteByte(' ')
			n++
		}
		space = false
		out.WriteRune(r)
		n++
	}
	return out.String()
}

// untagged drops what stands between < and >, and what a script or a style says. An open < ends at the end.
func untagged(text string) string {
	var out strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, "<")
		out.WriteString(before)
		if !found {
			break
		}
		name := strings.ToLower(rest[:min(len(rest), 6)])
		for _, silent := range []string{"script", "style"} {
			if strings.HasPrefix(name, silent) {
				if _, after, closed := strings.Cut(rest, "</"); closed {
					rest = after
				}
			}
		}
		_, rest, _ = strings.Cut(rest, ">")
		out.WriteByte(' ')
		text = rest
	}
	return out.String()
}
