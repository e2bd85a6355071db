package doctest

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode"
)

var (
	linkForm = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	codeForm = regexp.MustCompile("`[^`]*`")
)

// DeadLinks says which links of a page lead to nothing: a file that is not in the repository, or a heading that its page has not. name
// is the page's path in fsys. Links to other places (https:) are not followed.
func DeadLinks(fsys fs.FS, name string) (faults []string, err error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("cannot read a page: %w", err)
	}
	for i, line := range prose(string(text)) {
		for _, m := range linkForm.FindAllStringSubmatch(codeForm.ReplaceAllString(line, ""), -1) {
			if why := dead(fsys, name, m[1]); why != "" {
				faults = append(faults, fmt.Sprintf("%s:%d: the link %s leads to nothing: %s", name, i+1, m[1], why))
			}
		}
	}
	return faults, nil
}

// prose gives the lines of a page with those of fenced blocks empty.
func prose(text string) []string {
	lines := strings.Split(text, "\n")
	fence := ""
	for i, line := range lines {
		m := fenceForm.FindStringSubmatch(line)
		switch {
		case fence == "" && m != nil:
			fence = m[2]
		case fence != "" && m != nil && strings.HasPrefix(m[2], fence) && m[3] == "":
			fence = ""
		case fence == "":
			continue
		}
		lines[i] = ""
	}
	return lines
}

func dead(fsys fs.FS, from, target string) string {
	if strings.Contains(target, ":") {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	if file == "" {
		file = from
	} else {
		file = path.Join(path.Dir(from), file)
	}
	if _, err := fs.Stat(fsys, file); err != nil {
		return "there is no " + file
	}
	if anchor == "" || path.Ext(file) != ".md" {
		return ""
	}
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return err.Error()
	}
	seen := map[string]int{}
	for _, line := range prose(string(text)) {
		if !headingForm.MatchString(line) {
			continue
		}
		a := anchorOf(strings.TrimLeft(line, "# "))
		if n := seen[a]; n > 0 { // the second heading of one name
			a = fmt.Sprintf("%s-%d", a, n)
		}
		seen[anchorOf(strings.TrimLeft(line, "# "))]++
		if a == anchor {
			return ""
		}
	}
	return file + " has no heading " + anchor
}

// anchorOf is what a heading is called in a link: small letters, a dash for each space, and no other marks.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}
