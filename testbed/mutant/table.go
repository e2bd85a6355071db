// Package mutant removes the guards of the source one at a time and demands that a test fails: a guard that can go unnoticed is one that
// nobody tests. The guards are a table in a file (guards.mut), each with the exact text that goes, the text that comes, and the tests
// that must notice.
//
// It promises to work in private copies of the tree, to tell a test that fails from a program that does not compile, and to report a
// mutant whose text is not found exactly once: a table that is not true any more tests nothing. It must not change the tree that it is
// given.
package mutant

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
)

// Mutant is one guard, and how to remove it.
type Mutant struct {
	Name    string // what is guarded
	Line    int    // in the table
	Edits   []Edit // more than one where two places guard the same
	Package string // of the tests that must notice, "taskmanager/core"
	Run     string // pattern of their names
}

// Edit is one place that a mutant changes.
type Edit struct {
	File     string // in the tree, with slashes
	Old, New string // whole lines; Old stands in the file exactly once
}

// ParseTable reads a table. An entry is
//
//	mutant NAME
//	in     FILE
//	test   PACKAGE PATTERN
//	-LINE that goes
//	+LINE that comes
//	 LINE that stays, for a place that is not found by the others alone
//
// with another in and its lines for each further place, and ends at an empty line. A line that begins with # is a comment.
func ParseTable(r io.Reader) (out []Mutant, err error) {
	scan := bufio.NewScanner(r)
	var m *Mutant
	end := func() error {
		if m == nil {
			return nil
		}
		if err := m.check(); err != nil {
			return err
		}
		out, m = append(out, *m), nil
		return nil
	}
	n := 0
	for scan.Scan() {
		n++
		line := scan.Text()
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			if err := end(); err != nil {
				return nil, err
			}
		case word == "mutant":
			if err := end(); err != nil {
				return nil, err
			}
			m = &Mutant{Name: rest, Line: n}
		case m == nil:
			return nil, fmt.Errorf("line %d: %q stands before the first mutant", n, line)
		case word == "in":
			m.Edits = append(m.Edits, Edit{File: rest})
		case word == "test":
			m.Package, m.Run, _ = strings.Cut(rest, " ")
			m.Run = strings.TrimSpace(m.Run)
		case strings.ContainsRune("-+ ", rune(line[0])) && len(m.Edits) > 0:
			e := &m.Edits[len(m.Edits)-1]
			if line[0] != '+' {
				e.Old += line[1:] + "\n"
			}
			if line[0] != '-' {
				e.New += line[1:] + "\n"
			}
		default:
			return nil, fmt.Errorf("line %d: %q is neither mutant, in, test nor a line with -, + or a space before it", n, line)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	return out, end()
}

func (m *Mutant) check() error {
	if _, err := regexp.Compile(m.Run); err != nil {
		return fmt.Errorf("line %d: mutant %q: %w", m.Line, m.Name, err)
	}
	if m.Name == "" || len(m.Edits) == 0 || m.Package == "" || m.Run == "" {
		return fmt.Errorf("line %d: mutant %q lacks its name, in or test", m.Line, m.Name)
	}
	for _, e := range m.Edits {
		switch {
		case e.File == "" || e.Old == "":
			return fmt.Errorf("line %d: mutant %q lacks a line that goes", m.Line, m.Name)
		case path.IsAbs(e.File) || path.Clean(e.File) != e.File || strings.HasPrefix(e.File, ".."):
			return fmt.Errorf("line %d: mutant %q: %q is no file of the tree", m.Line, m.Name, e.File)
		}
	}
	return nil
}

// apply gives the file after the edit, and the number of the first line that goes.
func (e Edit) apply(text string) (string, int, error) {
	text = "\n" + text // so that Old begins at a line
	switch n := strings.Count(text, "\n"+e.Old); n {
	case 1:
	case 0:
		return "", 0, fmt.Errorf("does not apply any more: its lines are not in %s", e.File)
	default:
		return "", 0, fmt.Errorf("does not apply any more: its lines are in %s %d times", e.File, n)
	}
	before, after, _ := strings.Cut(text, "\n"+e.Old)
	return (before + "\n" + e.New + after)[1:], strings.Count(before, "\n") + 1 + e.kept(), nil
}

// kept counts the lines that stay before the first that goes.
func (e Edit) kept() (n int) {
	old, now := strings.Split(e.Old, "\n"), strings.Split(e.New, "\n")
	for n < len(old)-1 && n < len(now)-1 && old[n] == now[n] {
		n++
	}
	return n
}

// apply gives the files of a mutant as they are and as they become, and where the first change is. read reads a file of the tree.
func (m *Mutant) apply(read func(file string) (string, error)) (was, now map[string]string, at string, err error) {
	was, now = map[string]string{}, map[string]string{}
	at = m.Edits[0].File
	for i, e := range m.Edits {
		text, changed := now[e.File]
		if !changed {
			if text, err = read(e.File); err != nil {
				return nil, nil, at, err
			}
			was[e.File] = text
		}
		text, line, err := e.apply(text)
		if err != nil {
			return nil, nil, at, err
		}
		if now[e.File] = text; i == 0 {
			at = fmt.Sprintf("%s:%d", e.File, line)
		}
	}
	return was, now, at, nil
}
