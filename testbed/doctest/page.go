package doctest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Kind says what a block of a page is for.
type Kind string

const (
	Commands Kind = "commands" // a fenced block "sh": a reader types it
	File     Kind = "file"     // a fenced block with file=PATH: a reader writes it
	Setup    Kind = "setup"    // a comment <!-- docs-test … -->: what the page takes for granted, such as a robot that runs
)

// Page is what a guide lets its reader do, in order.
type Page struct {
	Path   string
	Blocks []Block
	Faults []string // "PATH:LINE: …": what makes the page unreadable for a test
}

// Block is one thing to do.
type Block struct {
	Line   int // of the fence or comment, from 1
	Kind   Kind
	Text   string        // commands, or what the file holds; ends with a newline
	File   string        // Kind File: where, relative to the folder
	NotRun string        // why this cannot be run here; empty: it is run
	On     string        // the machine that it is for, such as a robot; empty: a developer's
	CtrlC  time.Duration // after this time Ctrl-C is pressed; 0: never
	Shown  *Shown        // what the page shows of its output; nil: nothing
}

// Shown is a block "text" behind commands.
type Shown struct {
	Line  int
	Lines []string // "…" in a line stands for anything in it, a line of it alone for any lines
	Exit  int      // a last line "exit 3": the commands end with this code
}

// fence is a fenced block as it stands in the text.
type fence struct {
	line   int
	info   string
	text   string
	before string // the paragraph before it
}

var (
	fenceForm   = regexp.MustCompile("^( *)(```+|~~~+) *([^`]*)$")
	headingForm = regexp.MustCompile(`^#{1,6} `)
	attrForm    = regexp.MustCompile(`^\s*(?:([a-z-]+)=("[^"]*"|\S+)|(\S+))`)
	exitForm    = regexp.MustCompile(`^exit (\d+)$`)
	// untested is a command of ours, or one that a guide of ours would use, at the beginning of a line. A block that begins
	// with "$ " is the record of a terminal: a test of the program has made it.
	untested = regexp.MustCompile(`(?m)^(?:sudo|make|curl|systemctl|journalctl|busctl|gdbus|dbus-send|(?:bin/)?(?:deviceagentd|deviceagentctl|plannerd|testbed)) \S[^\n]*`)
)

const setupOpen, setupClose = "<!-- docs-test", "-->"

// Parse reads a page. Faults are in it: a page with faults is not run.
func Parse(path, text string) Page {
	p := &parser{page: Page{Path: path}, lines: strings.Split(text, "\n")}
	p.parse()
	return p.page
}

type parser struct {
	page  Page
	lines []string
	at    int    // the line that is looked at, from 0
	para  string // the paragraph that was read last
	fresh bool   // the last block may still be followed by its output
	out   bool   // the next line begins a new paragraph
}

func (p *parser) fault(line int, format string, args ...any) {
	p.page.Faults = append(p.page.Faults, fmt.Sprintf("%s:%d: ", p.page.Path, line)+fmt.Sprintf(format, args...))
}

func (p *parser) parse() {
	for ; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		switch m := fenceForm.FindStringSubmatch(line); {
		case m != nil:
			if f, ok := p.fence(m); ok {
				p.block(f)
			}
		case strings.HasPrefix(line, setupOpen):
			p.setup()
		case headingForm.MatchString(line):
			p.para, p.out, p.fresh = "", true, false
		case strings.TrimSpace(line) == "":
			p.out = true
		default:
			if p.out {
				p.para, p.out = "", false
			}
			p.para += line + "\n"
		}
	}
}

// fence reads to the end of a fenced block. Its own indent is taken off each line, as in a list.
func (p *parser) fence(open []string) (fence, bool) {
	f := fence{line: p.at + 1, info: strings.TrimSpace(open[3]), before: p.para}
	var text strings.Builder
	for p.at++; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		if t := strings.TrimSpace(line); strings.HasPrefix(t, open[2]) && strings.Trim(t, open[2][:1]) == "" {
			f.text = text.String()
			return f, true
		}
		text.WriteString(cutIndent(line, len(open[1])) + "\n")
	}
	p.fault(f.line, "the block has no end")
	return f, false
}

func cutIndent(line string, n int) string {
	return line[min(n, len(line)-len(strings.TrimLeft(line, " "))):]
}

func (p *parser) setup() {
	begin := p.at + 1
	attrs, words, err := attributes(strings.TrimPrefix(p.lines[p.at], setupOpen))
	on := attrs["on"]
	delete(attrs, "on")
	if err != nil || len(words)+len(attrs) > 0 {
		p.fault(begin, "commands of a comment begin on its second line; in the first there is only on=MACHINE, found %q", p.lines[p.at])
	}
	var text strings.Builder
	for p.at++; p.at < len(p.lines); p.at++ {
		if strings.TrimSpace(p.lines[p.at]) == setupClose {
			p.page.Blocks = append(p.page.Blocks, Block{Line: begin, Kind: Setup, Text: text.String(), On: on})
			p.fresh = false
			return
		}
		text.WriteString(p.lines[p.at] + "\n")
	}
	p.fault(begin, "the comment has no end")
}

// block takes a fenced block for what it is.
func (p *parser) block(f fence) {
	lang, rest, _ := strings.Cut(f.info, " ")
	attrs, words, err := attributes(rest)
	if err != nil {
		p.fault(f.line, "%v", err)
		return
	}
	_, isFile := attrs["file"]
	switch {
	case isFile:
		p.file(f, attrs)
	case lang == "sh":
		p.commands(f, attrs, words)
	case lang == "text" && p.fresh:
		p.shown(f)
	case lang == "" && !strings.HasPrefix(f.text, "$ ") && untested.MatchString(f.text):
		p.fault(f.line, "%q stands in a block without a language: nobody runs it; call the block sh", untested.FindString(f.text))
	}
	p.fresh = lang == "sh" && !isFile
}

func attributes(text string) (attrs map[string]string, words []string, err error) {
	attrs = map[string]string{}
	for strings.TrimSpace(text) != "" {
		m := attrForm.FindStringSubmatch(text)
		text = text[len(m[0]):]
		switch {
		case m[3] != "":
			words = append(words, m[3])
		case attrs[m[1]] != "":
			return nil, nil, fmt.Errorf("%s is given twice", m[1])
		default:
			attrs[m[1]] = strings.Trim(m[2], `"`)
		}
	}
	return attrs, words, nil
}

func (p *parser) file(f fence, attrs map[string]string) {
	path := attrs["file"]
	switch {
	case len(attrs) > 1:
		p.fault(f.line, "a file has no other attribute than file")
	case !filepath.IsLocal(path):
		p.fault(f.line, "file %q leads out of the folder", path)
	case !strings.Contains(f.before, "`"+path+"`"):
		p.fault(f.line, "the paragraph before the block does not name `%s`: a reader does not see where it belongs", path)
	default:
		p.page.Blocks = append(p.page.Blocks, Block{Line: f.line, Kind: File, Text: f.text, File: path})
	}
}

func (p *parser) commands(f fence, attrs map[string]string, words []string) {
	b := Block{Line: f.line, Kind: Commands, Text: f.text, NotRun: attrs["not-run"], On: attrs["on"]}
	var err error
	for key, value := range attrs {
		switch {
		case (key == "not-run" || key == "on") && value != "":
		case key == "ctrl-c":
			if b.CtrlC, err = time.ParseDuration(value); err != nil || b.CtrlC <= 0 {
				p.fault(f.line, "ctrl-c=%s is no time such as 2s", value)
			}
		default:
			p.fault(f.line, "%s=%q is no attribute of commands; there are not-run=\"reason\", on=MACHINE and ctrl-c=2s", key, value)
		}
	}
	if len(words) > 0 {
		p.fault(f.line, "unknown %q behind sh", words)
	}
	p.page.Blocks = append(p.page.Blocks, b)
}

func (p *parser) shown(f fence) {
	s := &Shown{Line: f.line, Lines: strings.Split(strings.TrimSuffix(f.text, "\n"), "\n")}
	if m := exitForm.FindStringSubmatch(s.Lines[len(s.Lines)-1]); m != nil {
		s.Exit, _ = strconv.Atoi(m[1]) // the form has digits only; one that is too large matches no exit code
		s.Lines = s.Lines[:len(s.Lines)-1]
	}
	p.page.Blocks[len(p.page.Blocks)-1].Shown = s
}
