// Package token reads and writes token_text: the short form of device calls that a plan may carry in place of taskMethod.
//
//	<sk_move>(position=거실)<sk_end>
//	<sk_move>(position="방, 2층");<sk_clean>()<sk_end>
//
// Its one job is text ↔ calls. Parse is total: any byte string gives calls or an error with its position, never a panic. It must
// not know which names exist: that is the catalog's token table, and an unknown name is refused there. Contract:
// docs/contract.md, section 6.
package token

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxBytes bounds a text. Source: docs/contract.md, section 2, strings.
const MaxBytes = 8 << 10

const (
	open = "<sk_"
	end  = "<sk_end>"
)

// Call is one <sk_NAME>(…). Name is without the brackets and the prefix sk_.
type Call struct {
	Name string
	Args []Arg
}

// Arg is one key=value. Value is what was meant: trimmed where it was bare, without quotes and escapes where Quoted. A bare value
// is never empty; an empty one is written "".
type Arg struct {
	Key    string
	Value  string
	Quoted bool
}

// SyntaxError says where a text stops being token_text. Pos is a byte offset, at most the length of the text.
type SyntaxError struct {
	Pos int
	Msg string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("cannot read token_text: %s at byte %d", e.Msg, e.Pos)
}

// Parse reads one or more calls. The error is a *SyntaxError: text that is too long or not UTF-8, a name or key that is not an
// identifier, a key twice in one call, an empty bare value, an open quote, or anything before, between or behind the calls.
// Space is allowed around calls, keys and values.
func Parse(text string) ([]Call, error) {
	if len(text) > MaxBytes {
		return nil, &SyntaxError{MaxBytes, fmt.Sprintf("more than %d bytes", MaxBytes)}
	}
	if pos := invalidUTF8(text); pos >= 0 {
		return nil, &SyntaxError{pos, "invalid UTF-8"}
	}
	p := parser{text: text}
	calls, err := p.calls()
	if err != nil {
		return nil, err
	}
	return calls, nil
}

func invalidUTF8(text string) int {
	for i := 0; i < len(text); {
		r, width := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && width == 1 {
			return i
		}
		i += width
	}
	return -1
}

type parser struct {
	text string
	pos  int
}

func (p *parser) fail(pos int, format string, args ...any) *SyntaxError {
	return &SyntaxError{pos, fmt.Sprintf(format, args...)}
}

// take passes over literal if it comes next.
func (p *parser) take(literal string) bool {
	if !strings.HasPrefix(p.text[p.pos:], literal) {
		return false
	}
	p.pos += len(literal)
	return true
}

func (p *parser) space() {
	for p.pos < len(p.text) && isSpace(p.text[p.pos]) {
		p.pos++
	}
}

// isSpace is ASCII space only: what other alphabets use as space may be part of a name.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (p *parser) calls() ([]Call, *SyntaxError) {
	var calls []Call
	for {
		p.space()
		c, err := p.call()
		if err != nil {
			return nil, err
		}
		calls = append(calls, c)
		p.space()
		if p.take(end) {
			break
		}
		if !p.take(";") {
			return nil, p.fail(p.pos, "expected ; or %s", end)
		}
	}
	if p.space(); p.pos < len(p.text) {
		return nil, p.fail(p.pos, "text follows %s", end)
	}
	return calls, nil
}

func (p *parser) call() (Call, *SyntaxError) {
	start := p.pos
	if !p.take(open) {
		return Call{}, p.fail(p.pos, "expected %sNAME>", open)
	}
	name, err := p.identifier("name")
	if err != nil {
		return Call{}, err
	}
	if !p.take(">") {
		return Call{}, p.fail(p.pos, "expected >")
	}
	if name == "end" {
		return Call{}, p.fail(start, "%s where a call belongs", end)
	}
	if p.space(); !p.take("(") {
		return Call{}, p.fail(p.pos, "expected (")
	}
	args, err := p.args()
	return Call{name, args}, err
}

func (p *parser) args() ([]Arg, *SyntaxError) {
	if p.space(); p.take(")") {
		return nil, nil
	}
	var args []Arg
	seen := map[string]bool{}
	for {
		p.space()
		start := p.pos
		a, err := p.arg()
		if err != nil {
			return nil, err
		}
		if seen[a.Key] {
			return nil, p.fail(start, "the key %s appears twice", a.Key)
		}
		seen[a.Key] = true
		args = append(args, a)
		if p.space(); p.take(")") {
			return args, nil
		}
		if !p.take(",") {
			return nil, p.fail(p.pos, "expected , or )")
		}
	}
}

func (p *parser) arg() (Arg, *SyntaxError) {
	key, err := p.identifier("key")
	if err != nil {
		return Arg{}, err
	}
	if p.space(); !p.take("=") {
		return Arg{}, p.fail(p.pos, "expected =")
	}
	p.space()
	if p.take(`"`) {
		value, err := p.quoted()
		return Arg{key, value, true}, err
	}
	value, err := p.bare()
	return Arg{key, value, false}, err
}

// identifier reads A-Z a-z 0-9 and _, not beginning with a digit: the names of the catalog.
func (p *parser) identifier(what string) (string, *SyntaxError) {
	start := p.pos
	for p.pos < len(p.text) && isIdentifier(p.text[p.pos], p.pos > start || what == "name") {
		p.pos++
	}
	if p.pos == start {
		return "", p.fail(start, "expected a %s", what)
	}
	return p.text[start:p.pos], nil
}

// isIdentifier lets a digit begin only where something stands before it: sk_4 is an identifier, and so is its rest.
func isIdentifier(c byte, digits bool) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		return true
	}
	return digits && c >= '0' && c <= '9'
}

// bare reads to the next comma or parenthesis. A quote inside would be read differently by the next reader, so it is refused.
func (p *parser) bare() (string, *SyntaxError) {
	start := p.pos
	n := strings.IndexAny(p.text[start:], ",)")
	if n < 0 {
		return "", p.fail(len(p.text), "expected )")
	}
	p.pos += n
	value := strings.TrimRight(p.text[start:p.pos], " \t\r\n")
	if value == "" {
		return "", p.fail(start, "expected a value")
	}
	if i := strings.IndexByte(value, '"'); i >= 0 {
		return "", p.fail(start+i, "a quote inside a bare value")
	}
	return value, nil
}

// quoted reads behind the opening quote up to the closing one.
func (p *parser) quoted() (string, *SyntaxError) {
	start := p.pos - 1
	var b strings.Builder
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		p.pos++
		switch c {
		case '"':
			return b.String(), nil
		case '\\':
			if p.pos == len(p.text) || (p.text[p.pos] != '"' && p.text[p.pos] != '\\') {
				return "", p.fail(p.pos-1, `only \" and \\ are escapes`)
			}
			c = p.text[p.pos]
			p.pos++
		}
		b.WriteByte(c)
	}
	return "", p.fail(start, "the quote is not closed")
}

// Format writes calls so that Parse gives the same again, except that a value which cannot be bare is quoted. It does not check
// names and keys.
func Format(calls []Call) string {
	var b strings.Builder
	for i, c := range calls {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString(open + c.Name + ">(")
		for j, a := range c.Args {
			if j > 0 {
				b.WriteString(", ")
			}
			b.WriteString(a.Key + "=" + a.text())
		}
		b.WriteByte(')')
	}
	b.WriteString(end)
	return b.String()
}

var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func (a Arg) text() string {
	if a.Quoted || !canBeBare(a.Value) {
		return `"` + quoter.Replace(a.Value) + `"`
	}
	return a.Value
}

func canBeBare(value string) bool {
	return value != "" && strings.Trim(value, " \t\r\n") == value && !strings.ContainsAny(value, `,)"`)
}
