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
	escapedMost = 3        // how often markup may hide in entities
	cleanBytes  = 16 << 10 // that are looked at: markup that is never closed is gone through again and again
)

// clean makes plain words of strangers' text: no markup, no control, direction or invisible characters, single spaces, at most most
// letters. What is left is only ever told.
func clean(text string, most int) string {
	text = text[:min(len(text), cleanBytes)]
	for range escapedMost {
		text = html.UnescapeString(untagged(text))
	}
	text = untagged(text)
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
		apart := space && out.Len() > 0
		if n++; apart {
			n++
		}
		if n >= most { // one is for what says that more was there
			return strings.TrimRight(out.String(), " ,.") + "…"
		}
		if apart {
			out.WriteByte(' ')
		}
		space = false
		out.WriteRune(r)
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
		tag, after, _ := strings.Cut(rest, ">")
		if !inline[strings.ToLower(strings.Trim(firstWord(tag), "/"))] {
			out.WriteByte(' ')
		}
		text = after
	}
	return out.String()
}

// inline are the elements that stand inside a word or beside a full stop; all others part words.
var inline = map[string]bool{"b": true, "i": true, "em": true, "strong": true, "a": true, "span": true, "u": true, "font": true, "mark": true, "code": true}

func firstWord(tag string) string {
	word, _, _ := strings.Cut(tag, " ")
	return word
}
