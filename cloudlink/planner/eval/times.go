package eval

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"deviceagent/cloudlink/planner/timeko"
)

// measured are the kinds of time values that are read; rows of other kinds (ranges of dates, dimensions …) are only counted.
var measured = []timeko.Kind{timeko.Time, timeko.TimeRange, timeko.Duration, timeko.Date, timeko.DateTime, timeko.Set, timeko.Relative, timeko.Instant, timeko.Number}

// TimeReport is how values were found in free text. A row is right if an expression of the row's kind that overlaps the labelled words
// has, by [timeko.Value.Equal], one of the labelled values.
type TimeReport struct {
	Kind    Kind              `json:"kind"`
	Rows    int               `json:"rows"` // of measured kinds
	Right   Ratio             `json:"right"`
	PerKind map[string]*Ratio `json:"per_kind"`
	Skipped map[string]int    `json:"skipped"` // rows of other kinds
	RowMS   Times             `json:"row_ms"`
	Wrong   []Wrong           `json:"wrong"`
}

// MeasureTimes reads each row.
func MeasureTimes(rows []Row) (TimeReport, error) {
	rep := TimeReport{Kind: TimeValues, PerKind: map[string]*Ratio{}, Skipped: map[string]int{}}
	var took []time.Duration
	for _, row := range rows {
		if !slices.Contains(measured, timeko.Kind(row.Kind)) {
			rep.Skipped[row.Kind]++
			continue
		}
		want, err := row.values()
		if err != nil {
			return rep, fmt.Errorf("cannot read the value of %s: %w", row.ID, err)
		}
		begin := time.Now()
		found := timeko.Find(row.Text, row.reference())
		took = append(took, time.Since(begin))
		rep.count(row, want, found)
	}
	rep.RowMS = timesOf(took)
	return rep, nil
}

func (rep *TimeReport) count(row Row, want []timeko.Value, found []timeko.Found) {
	start, end := row.span()
	var got []string
	right := false
	for _, f := range found {
		if string(f.Kind) != row.Kind || f.End <= start || f.Start >= end {
			continue
		}
		got = append(got, f.String())
		right = right || slices.ContainsFunc(want, func(v timeko.Value) bool { return f.Equal(v) })
	}
	rep.Rows++
	rep.Right.add(right)
	entry(rep.PerKind, row.Kind).add(right)
	if !right {
		rep.Wrong = append(rep.Wrong, Wrong{ID: row.ID, Labelled: row.Kind + " " + texts(want), Decided: strings.Join(got, " "), Text: row.Text})
	}
}

func texts(values []timeko.Value) string {
	var out []string
	for _, v := range values {
		out = append(out, v.String())
	}
	return strings.Join(out, " or ")
}

// span is where the labelled words stand, in runes of the text with single spaces; all of it where they are not in it.
func (r Row) span() (start, end int) {
	one := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
	before, _, ok := strings.Cut(one(r.Text), one(r.Span))
	if !ok {
		return 0, len([]rune(r.Text))
	}
	start = len([]rune(before))
	return start, start + len([]rune(one(r.Span)))
}

// reference is the row's moment, as its wall clock shows it. Rows without one do not need it.
func (r Row) reference() time.Time {
	var said string
	_ = json.Unmarshal(r.Reference, &said) // none is no moment
	at, err := time.Parse("2006-01-02T15:04:05", said[:min(len(said), 19)])
	if err != nil {
		return time.Date(2016, 11, 7, 0, 0, 0, 0, time.UTC)
	}
	return at
}

// gold is a labelled value in the spellings of its two sources.
type gold struct {
	Value  json.RawMessage   `json:"value"`
	Timex  string            `json:"timex"`
	At     string            `json:"at"`
	Grain  string            `json:"grain"`
	N      *float64          `json:"n"`
	Unit   string            `json:"unit"`
	Future map[string]string `json:"future"`
	Values []map[string]any  `json:"values"`
}

// values are the labelled values in normal form; any of them is right.
func (r Row) values() ([]timeko.Value, error) {
	var number float64
	if json.Unmarshal(r.Value, &number) == nil {
		return []timeko.Value{{Kind: timeko.Number, Number: number}}, nil
	}
	var g gold
	if err := json.Unmarshal(r.Value, &g); err != nil {
		return nil, err
	}
	return labels[timeko.Kind(r.Kind)](g)
}

var labels = map[timeko.Kind]func(gold) ([]timeko.Value, error){
	timeko.Number: func(g gold) ([]timeko.Value, error) { return numbers(timeko.Number, g.text()) },
	timeko.Duration: func(g gold) ([]timeko.Value, error) {
		if g.N != nil {
			return []timeko.Value{{Kind: timeko.Duration, Number: *g.N * unitSeconds[g.Unit]}}, nil
		}
		return numbers(timeko.Duration, g.each("duration", "value")...)
	},
	timeko.Time: func(g gold) ([]timeko.Value, error) {
		var out []timeko.Value
		for _, text := range g.each("time", "value") {
			out = append(out, timeko.Value{Kind: timeko.Time, From: secondsOf(text)})
		}
		return out, nil
	},
	timeko.TimeRange: func(g gold) ([]timeko.Value, error) {
		var out []timeko.Value
		from, to := g.each("startTime", "start"), g.each("endTime", "end")
		for i := range max(len(from), len(to)) {
			out = append(out, timeko.Value{Kind: timeko.TimeRange, From: secondsOf(at(from, i)), To: secondsOf(at(to, i))})
		}
		return out, nil
	},
	timeko.Date: func(g gold) ([]timeko.Value, error) {
		return moments(timeko.Date, "2006-01-02", g.each("date", "value"))
	},
	timeko.DateTime: func(g gold) ([]timeko.Value, error) {
		return moments(timeko.DateTime, "2006-01-02 15:04:05", g.each("dateTime", "value"))
	},
	timeko.Set: func(g gold) ([]timeko.Value, error) {
		out := []timeko.Value{{Kind: timeko.Set, Timex: g.Timex}}
		for _, text := range g.each("", "timex") {
			out = append(out, timeko.Value{Kind: timeko.Set, Timex: text})
		}
		return out, nil
	},
	timeko.Relative: func(g gold) ([]timeko.Value, error) {
		v, err := timeko.ParsePlace(g.text())
		return []timeko.Value{v}, err
	},
	timeko.Instant: func(g gold) ([]timeko.Value, error) {
		out, err := moments(timeko.Instant, "2006-01-02T15:04:05", []string{g.At})
		for i := range out {
			out[i].Grain = timeko.Grain(strings.ToLower(g.Grain))
		}
		return out, err
	},
}

var unitSeconds = map[string]float64{"Second": 1, "Minute": 60, "Hour": 3600, "Day": 86400, "Week": 604800, "Month": 2592000, "Year": 31536000}

func (g gold) text() string {
	var s string
	_ = json.Unmarshal(g.Value, &s) // no text is an empty one, which no number is
	return s
}

// each gives a field of the one value, or of each of several.
func (g gold) each(one, many string) []string {
	var out []string
	if s, ok := g.Future[one]; ok {
		out = append(out, s)
	}
	for _, v := range g.Values {
		s, _ := v[many].(string)
		out = append(out, s)
	}
	return out
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

func numbers(kind timeko.Kind, texts ...string) ([]timeko.Value, error) {
	var out []timeko.Value
	for _, text := range texts {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, timeko.Value{Kind: kind, Number: n})
	}
	return out, nil
}

func moments(kind timeko.Kind, layout string, texts []string) ([]timeko.Value, error) {
	var out []timeko.Value
	for _, text := range texts {
		moment, err := time.Parse(layout, text)
		if err != nil {
			return nil, err
		}
		out = append(out, timeko.Value{Kind: kind, At: moment})
	}
	return out, nil
}

// secondsOf reads HH:MM:SS as seconds of the day; what is not said is open.
func secondsOf(text string) int {
	moment, err := time.Parse("15:04:05", text)
	if err != nil {
		return timeko.Open
	}
	return moment.Hour()*3600 + moment.Minute()*60 + moment.Second()
}

// Print writes the report for people.
func (rep TimeReport) Print(w io.Writer, wrong bool) {
	if wrong {
		for _, x := range rep.Wrong {
			say(w, "%-10s %s, not %s: %s\n", x.ID, x.Labelled, x.Decided, x.Text)
		}
	}
	say(w, "rows %d\nright %s\n", rep.Rows, rep.Right)
	for _, kind := range slices.Sorted(maps.Keys(rep.PerKind)) {
		say(w, "%-10s %s\n", kind, rep.PerKind[kind])
	}
	say(w, "not measured: %v\na row %.2f ms (p50), %.2f ms (p99)\n", rep.Skipped, rep.RowMS.P50, rep.RowMS.P99)
}
