package timeko

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

//go:embed data/words.json
var dataFiles embed.FS

// lists are the words of the language, as data.
type lists struct {
	Digits      map[string]float64 `json:"digits"`
	Small       map[string]float64 `json:"small"`
	Large       table[float64]     `json:"large"`
	Native      table[float64]     `json:"native"`
	NativeTens  table[float64]     `json:"native_tens"`
	Counted     table[float64]     `json:"counted"`
	Days        table[float64]     `json:"days"` // 사흘 = 3 days
	Few         []string           `json:"few"`  // some
	Units       table[string]      `json:"units"`
	Seconds     map[string]float64 `json:"seconds"` // of a unit; a month has 30 days, a year 365
	DayWords    table[int]         `json:"day_words"`
	Weekdays    table[int]         `json:"weekdays"` // Monday is 1
	Months      table[int]         `json:"months"`   // that are not read as their number
	Shifts      table[int]         `json:"shifts"`   // this, next, last
	Coming      []string           `json:"coming"`
	Years       table[int]         `json:"years"`
	WeekWords   []string           `json:"week_words"`
	MonthWords  []string           `json:"month_words"`
	Ordinals    table[int]         `json:"ordinals"`
	Parts       table[string]      `json:"parts"`
	Moments     table[int]         `json:"moments"` // seconds of the day
	Latin       table[string]      `json:"latin_parts"`
	Spans       table[span]        `json:"spans"`
	Early       []string           `json:"early"`
	Late        []string           `json:"late"`
	About       []string           `json:"about"`
	Half        string             `json:"half"`
	After       []string           `json:"after"`
	Before      []string           `json:"before"`
	Within      []string           `json:"within"`
	During      []string           `json:"during"`
	From        []string           `json:"from"`
	Until       []string           `json:"until"`
	Between     []string           `json:"between"`
	Now         []string           `json:"now"`
	EndOfDay    []string           `json:"end_of_day"`
	EndOf       []string           `json:"end_of"` // behind a day
	Every       table[string]      `json:"every"`
	Each        []string           `json:"each"`
	EveryUnit   []string           `json:"every_prefix"`
	Groups      table[string]      `json:"groups"`
	DayGroups   table[string]      `json:"day_groups"`  // of [Occasions]
	DayLinks    []string           `json:"day_links"`   // between the days of a list
	ClockLinks  []string           `json:"clock_links"` // between the two times of a range
	Tails       []string           `json:"tails"`       // particles behind an occasion, the longest first
	Strong      []string           `json:"strong"`      // begin an occasion also without a space before them
	Relatives   table[place]       `json:"relatives"`
	Holidays    table[[2]int]      `json:"holidays"`         // month, day
	Moving      table[[3]int]      `json:"weekday_holidays"` // month, weekday, which one; -1 is the last
	Lunar       table[[]string]    `json:"lunar_holidays"`   // by date, in order
	WorkingDays []string           `json:"working_days"`
	Plus        []string           `json:"plus"`
	Minus       []string           `json:"minus"`
	Point       string             `json:"point"`
	PartsOf     string             `json:"parts_of"`
	BehindOne   []string           `json:"behind_one"` // what may stand behind a numeral of one syllable
}

// span is a part of the day: from and to in seconds of the day, and its name in TIMEX.
type span struct {
	from, to int
	timex    string
}

// UnmarshalJSON reads [from, to, name].
func (s *span) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&s.from, &s.to, &s.timex})
}

// place is where something stands in a row, from its end or from the present one.
type place struct {
	to     string
	offset int
}

// UnmarshalJSON reads [from what, offset].
func (p *place) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&p.to, &p.offset})
}

var words = func() (w lists) {
	data, err := dataFiles.ReadFile("data/words.json")
	if err == nil {
		err = json.Unmarshal(data, &w)
	}
	if err != nil {
		panic(fmt.Sprintf("internal error: cannot read words.json: %v", err))
	}
	return w
}()

// text is what is read, in lower case.
type text []rune

// eat gives the end of a word that stands at a place, spaces before it left out; a space in the word may be missing in the text.
func (t text) eat(at int, word string) (end int, ok bool) {
	at = t.skip(at)
	for _, r := range word {
		switch {
		case at < len(t) && t[at] == r:
			at++
		case r == ' ':
		default:
			return 0, false
		}
	}
	return at, true
}

func (t text) skip(at int) int {
	for at < len(t) && t[at] == ' ' {
		at++
	}
	return at
}

// eatAny gives the end of the longest of the words.
func (t text) eatAny(at int, list []string) (end int, ok bool) {
	for _, w := range list {
		if e, found := t.eat(at, w); found && e > end {
			end, ok = e, true
		}
	}
	return end, ok
}

// table finds words by their first letter: a sentence is looked at from each of its places.
type table[V any] map[rune][]keyed[V]

type keyed[V any] struct {
	word  string
	value V
}

// UnmarshalJSON reads an object.
func (x *table[V]) UnmarshalJSON(data []byte) error {
	var plain map[string]V
	if err := json.Unmarshal(data, &plain); err != nil {
		return err
	}
	*x = table[V]{}
	for word, value := range plain {
		first, _ := utf8.DecodeRuneInString(word)
		(*x)[first] = append((*x)[first], keyed[V]{word, value})
	}
	return nil
}

// eatKey gives the value of the longest key.
func eatKey[V any](t text, at int, words table[V]) (value V, end int, ok bool) {
	at = t.skip(at)
	if at >= len(t) {
		return value, 0, false
	}
	for _, k := range words[t[at]] {
		if e, found := t.eat(at, k.word); found && e > end {
			value, end, ok = k.value, e, true
		}
	}
	return value, end, ok
}

func newText(said string) text {
	return text(strings.ToLower(strings.Join(strings.Fields(said), " ")))
}
