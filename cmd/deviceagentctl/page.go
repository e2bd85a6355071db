package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"deviceagent/agent/diag"
)

// schema names the form of the JSON document. Fields are only added within it.
const schema = "deviceagentctl/v1"

// document is what -o json prints, and what text is rendered from.
type document struct {
	Schema string          `json:"schema"`
	OK     bool            `json:"ok"`
	Data   json.RawMessage `json:"data,omitempty"`
	Error  *diag.Problem   `json:"error,omitempty"`
	AsOf   *diag.AsOf      `json:"asOf"` // null: no agent was asked
}

func sprintf(format string, args ...any) string {
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

func orText(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func contains[T comparable](list []T, v T) bool { return slices.Contains(list, v) }

func sibling(socket string) string { return filepath.Join(filepath.Dir(socket), "control.sock") }

// language follows --lang, then the usual variables.
func language(env func(string) string) string {
	if strings.HasPrefix(orText(env("LC_ALL"), orText(env("LC_MESSAGES"), env("LANG"))), "ko") {
		return "ko"
	}
	return "en"
}

// page is how text is put on paper or screen.
type page struct {
	out    io.Writer
	width  int // columns; 0: as wide as it takes
	colour bool
	zone   *time.Location
	lang   string
	wide   bool
}

// defaultWidth is used where the terminal does not tell.
const defaultWidth = 100

func (a *app) newPage() page {
	p := page{out: a.stdout, width: defaultWidth, zone: a.zone, lang: a.lang, wide: a.output == asWide}
	if a.utc {
		p.zone = time.UTC
	}
	if f, ok := a.stdout.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 20 {
			p.width = w
		}
	}
	if p.wide {
		p.width = 0
	}
	p.colour = wantsColour(a.color, a.env, isTTY(a.stdout))
	return p
}

// wantsColour: the flag, then NO_COLOR, then the forcing variables, then the terminal.
func wantsColour(flag string, env func(string) string, tty bool) bool {
	forced := func(name string) bool { v := env(name); return v != "" && v != "0" }
	switch {
	case flag == "always":
		return true
	case flag == "never" || env("NO_COLOR") != "":
		return false
	case forced("CLICOLOR_FORCE") || forced("FORCE_COLOR"):
		return true
	}
	return tty && env("TERM") != "dumb" && env("TERM") != ""
}

// colours of words; a coloured word is a word all the same.
var colours = map[string]string{
	"ok": "32", "ready": "32", "online": "32", "completed": "32", "satisfied": "32", "observed": "32", "fresh": "32",
	"active": "36", "running": "36", "verifying": "36", "dispatching": "36",
	"queued": "1", "pending": "1", "waiting": "1", "held": "33", "blocked": "33", "cancelling": "33", "paused": "33", "stale": "33", "partial": "33",
	"outcome_unknown": "33", "retry_wait": "33", "offline": "33", "connecting": "33", "degraded": "33", "missing": "33", "unavailable": "33",
	"failed": "31", "timed_out": "31", "contradicted": "31", "expired": "31", "absent": "31", "cancelled": "33", "skipped": "1",
}

func (p page) paint(word string) string {
	code := colours[strings.ToLower(word)]
	if !p.colour || code == "" {
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

func (p page) line(format string, args ...any) {
	_, _ = fmt.Fprintln(p.out, strings.TrimRight(sprintf(format, args...), " "))
}

// clean makes text from outside harmless on a terminal: no control characters, nothing that reorders.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, text)
}

// columnsOf counts terminal columns: a Hangul syllable has two.
func columnsOf(text string) (n int) {
	for i := 0; i < len(text); {
		if text[i] == 0x1b { // our own colours take no room
			if end := strings.IndexByte(text[i:], 'm'); end >= 0 {
				i += end + 1
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.Is(unicode.Mn, r):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
		i += size
	}
	return n
}

func pad(text string, to int) string { return text + strings.Repeat(" ", max(0, to-columnsOf(text))) }

// wrap breaks text at spaces so that no line is wider; a word that is wider stays whole.
func wrap(text string, to int) []string {
	if to <= 0 || columnsOf(text) <= to {
		return []string{text}
	}
	var lines []string
	var line string
	for word := range strings.FieldsSeq(text) {
		if line != "" && columnsOf(line)+1+columnsOf(word) > to {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// column is one column of a table.
type column struct {
	name string
	wide bool // in the form wide only
}

// table prints rows under headers. The last column wraps where the page is narrow.
func (a *app) table(cols []column, rows [][]string) error {
	keep, err := a.pick(cols)
	if err != nil {
		return err
	}
	widths := make([]int, len(cols))
	for _, i := range keep {
		widths[i] = columnsOf(cols[i].name)
		for _, row := range rows {
			widths[i] = max(widths[i], columnsOf(row[i]))
		}
	}
	if !a.noHeaders {
		header := make([]string, len(cols))
		for i, c := range cols {
			header[i] = c.name
		}
		rows = append([][]string{header}, rows...)
	}
	for _, row := range rows {
		a.row(keep, widths, row)
	}
	return nil
}

func (a *app) row(keep []int, widths []int, row []string) {
	left := ""
	for _, i := range keep[:len(keep)-1] {
		left += pad(a.page.paint(row[i]), widths[i]) + "  "
	}
	room := 0
	if a.page.width > 0 {
		room = max(20, a.page.width-columnsOf(left))
	}
	for n, part := range wrap(row[keep[len(keep)-1]], room) {
		if n > 0 {
			left = strings.Repeat(" ", columnsOf(left))
		}
		a.page.line("%s%s", left, a.page.paint(part))
	}
}

// pick chooses columns: those that were asked for, else all but those for wide.
func (a *app) pick(cols []column) ([]int, error) {
	var keep []int
	for _, name := range a.columns {
		i := slices.IndexFunc(cols, func(c column) bool { return strings.EqualFold(c.name, name) })
		if i < 0 {
			names := make([]string, len(cols))
			for i, c := range cols {
				names[i] = c.name
			}
			return nil, usage("there is no column %q; there are %s", name, strings.Join(names, ", "))
		}
		keep = append(keep, i)
	}
	if keep == nil {
		for i, c := range cols {
			if !c.wide || a.page.wide {
				keep = append(keep, i)
			}
		}
	}
	return keep, nil
}

// emit prints a document: as JSON, or by render from its data.
func emit[T any](a *app, rep diag.Reply, render func(T, diag.AsOf) error) error {
	if a.output == asJSON {
		return a.json(document{Schema: schema, OK: true, Data: rep.Data, AsOf: asOf(rep)})
	}
	var data T
	if err := json.Unmarshal(rep.Data, &data); err != nil {
		return diag.NewProblem(diag.CodeWrongVersion, "the agent's document cannot be read: "+err.Error(), "deviceagentctl version")
	}
	return render(data, rep.AsOf)
}

func asOf(rep diag.Reply) *diag.AsOf {
	if rep.AsOf.DeviceTime == "" {
		return nil
	}
	return &rep.AsOf
}

func (a *app) json(v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := a.stdout.Write(buf.Bytes())
	return err
}

// note says something beside the data.
func (a *app) note(format string, args ...any) {
	if a.output == asText || a.output == asWide {
		_, _ = fmt.Fprintln(a.stderr, sprintf(format, args...))
	}
}

// fail prints what went wrong: one document on stdout in JSON, else the cause and the remedy on stderr.
func (a *app) fail(p *diag.Problem) {
	if a.output == asJSON || a.output == asJSONL {
		_ = a.json(document{Schema: schema, Error: p, AsOf: p.AsOf})
		return
	}
	l := tongue(a.lang)
	text := l.title(p)
	if p.Detail != "" {
		text += ": " + clean(p.Detail)
	}
	_, _ = fmt.Fprintln(a.stderr, text)
	for _, f := range p.Errors {
		_, _ = fmt.Fprintf(a.stderr, "  %s: %s\n", clean(orText(f.Path, "-")), clean(f.Message))
	}
	if p.Hint != "" {
		_, _ = fmt.Fprintf(a.stderr, "%s: %s\n", l.say("try"), clean(p.Hint))
	}
}
