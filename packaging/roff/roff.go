// Package roff writes manual pages: title, sections, paragraphs, items and examples in the man macros that every reader knows.
//
// It promises that no text can become a request of the formatter: what looks like one is escaped, and what is not ASCII is named by
// its code point, so that a page reads alike in any locale. Words between `backquotes` are bold. It bears no date, so that the same
// source gives the same bytes. It must not know what the pages are about: who has the facts (settings, commands, flags) writes them.
package roff

import (
	"fmt"
	"strings"
)

// Page is a page being written.
type Page struct{ b strings.Builder }

// New begins the page name(section); about is the one line that `man -k` finds.
func New(name string, section int, about string) *Page {
	p := &Page{}
	p.request(".TH %s %d \"\" \"DeviceAgent\" \"DeviceAgent manual\"", escape(strings.ToUpper(name)), section)
	p.Section("Name")
	p.request("%s \\- %s", escape(name), escape(about))
	return p
}

func (p *Page) request(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// Section begins a section.
func (p *Page) Section(title string) { p.request(".SH %s", escape(strings.ToUpper(title))) }

// Sub begins a part of a section.
func (p *Page) Sub(title string) { p.request(".SS %s", escape(title)) }

// Text is a paragraph.
func (p *Page) Text(text string) {
	p.request(".PP")
	p.request("%s", inline(text))
}

// Item is a term with what it means below it.
func (p *Page) Item(term, text string) {
	p.request(".TP")
	p.request("%s", inline(term))
	p.request("%s", inline(text))
}

// SubItem is an item below the one before.
func (p *Page) SubItem(term, text string) {
	p.request(".RS")
	p.Item(term, text)
	p.request(".RE")
}

// Example is text as it is typed or printed.
func (p *Page) Example(text string) {
	p.request(".PP\n.RS 4\n.nf")
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		p.request("%s", guard(escape(strings.TrimRight(line, "\n"))))
	}
	p.request(".fi\n.RE")
}

func (p *Page) String() string { return p.b.String() }

// inline escapes a text and makes what stands between backquotes bold.
func inline(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(strings.Join(strings.Fields(text), " "), "`") {
		if i%2 == 1 {
			b.WriteString(`\fB` + escape(part) + `\fR`)
		} else {
			b.WriteString(escape(part))
		}
	}
	return guard(b.String())
}

// guard keeps a line from being read as a request, and an empty one from ending a paragraph.
func guard(line string) string {
	if line == "" || line[0] == '.' || line[0] == '\'' {
		return `\&` + line
	}
	return line
}

func escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`) // a plain one is a hyphen, which cannot be searched for or pasted as a flag
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '\t' || r == '\n':
			b.WriteByte(' ')
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "?")
		case r > 0x7e:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
