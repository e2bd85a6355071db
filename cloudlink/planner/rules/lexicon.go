package rules

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// The words of the language stand in data files, the rules in code. Words of this robot come from the catalog (rooms, aliases)
// and from the frames file, which says how words and arguments map to its operations.
//
//go:embed data/*.json data/*.txt
var dataFiles embed.FS

// words is a list per language.
type words struct {
	Ko []string `json:"ko"`
	En []string `json:"en"`
}

// in picks the list of a language.
func (w words) in(lang language) []string {
	if lang == english {
		return w.En
	}
	return w.Ko
}

// frame says how one thing that people talk about maps to an operation: its nouns, what may be done with it, its arguments.
type frame struct {
	ID        string            `json:"id"`
	Method    catalog.Method    `json:"method"`
	RoomParam string            `json:"room_param,omitempty"` // the parameter that a room fills; such a frame needs one room
	Nouns     words             `json:"nouns"`
	Acts      map[string]action `json:"acts"`
	Place     bool              `json:"place,omitempty"` // with a room it means: go there, then do it
	Home      bool              `json:"home,omitempty"`  // "집", "실내" beside it says nothing new
	Here      bool              `json:"here,omitempty"`  // "여기" beside it says nothing new
	Brief     bool              `json:"brief,omitempty"` // "잠깐" beside it says nothing new: it does not begin again by itself

	Shared bool `json:"shared,omitempty"` // other things in a home have one too: behind another thing it may be that one's

	Level            string                       `json:"level,omitempty"` // the integer parameter that a number fills
	BecomesWithLevel string                       `json:"becomes_with_level,omitempty"`
	Duration         *durationParam               `json:"duration,omitempty"`
	Values           []valueWords                 `json:"values,omitempty"`
	Levels           map[string]map[string]string `json:"levels,omitempty"` // what max and min mean without a level parameter
	Metric           *metric                      `json:"metric,omitempty"`
	ReleasedByStart  []string                     `json:"released_by_start,omitempty"` // acts that ask for the start only
	Say              speech                       `json:"say"`
	SayStop          *speech                      `json:"say_stop,omitempty"`
	SayParams        sayParams                    `json:"say_params,omitempty"`

	fromCatalog bool // made of a catalog entry that no frame knows

	// Skill is what the cloud does, in place of a method; Route who owns it, Args what it is always told.
	Skill  string         `json:"skill,omitempty"`
	Route  turn.Family    `json:"route,omitempty"`
	Args   map[string]any `json:"args,omitempty"`
	Open   bool           `json:"open,omitempty"`   // words that nobody knows are what is looked for
	Titled bool           `json:"titled,omitempty"` // they are a title
	// EndEvent is given when work of this kind that is under way has ended.
	EndEvent string `json:"end_event,omitempty"`
}

// action is what one act means for a frame. Empty fields: the frame's own method, no argument.
type action struct {
	Method catalog.Method `json:"method,omitempty"`
	Frame  string         `json:"frame,omitempty"` // the act belongs to another frame: "공기 깨끗하게" is cleaning
	Params map[string]any `json:"params,omitempty"`
	Nouns  []string       `json:"nouns,omitempty"` // only beside one of these nouns; empty: any
	Then   string         `json:"then,omitempty"`  // and this frame, if what was measured is bad: "공기 관리해"
}

type durationParam struct {
	Param  string `json:"param"`
	UnitMS int64  `json:"unit_ms"`
}

type valueWords struct {
	Param string `json:"param"`
	Value string `json:"value"`
	words
}

// metric is what a condition over this frame compares: an output of its own step, or a context key.
type metric struct {
	OutputKey string `json:"output_key,omitempty"`
	Grade     string `json:"grade,omitempty"`
	Number    string `json:"number,omitempty"`
	Context   string `json:"context,omitempty"`
	Flag      string `json:"flag,omitempty"` // a field that is true or false
}

// speech is how the acknowledgement names the action: Korean as noun phrase, connecting and final form.
type speech struct {
	Ko []string `json:"ko"`
	En string   `json:"en"`
}

type sayParams map[string]speech

type framesFile struct {
	Frames     []frame          `json:"frames"`
	LevelWords map[string]words `json:"level_words"`
}

// ending is one verb ending; see forms for what On means.
type ending struct {
	On   string   `json:"on"`
	Fn   string   `json:"fn"`
	Text []string `json:"text"`
}

type particle struct {
	Role   string   `json:"role"`
	Any    []string `json:"any"`
	Open   []string `json:"open"`   // after a vowel
	Closed []string `json:"closed"` // after a consonant
	Rieul  string   `json:"rieul"`  // "open": ㄹ counts as a vowel
}

type copula struct {
	Fn  string   `json:"fn"`
	Any []string `json:"any"`
}

type koreanWords struct {
	Endings       []ending            `json:"endings"`
	Particles     []particle          `json:"particles"`
	Copula        []copula            `json:"copula"`
	Verbs         map[string][]string `json:"verbs"`
	ActNouns      map[string][]string `json:"act_nouns"`
	Quit          []string            `json:"quit"`
	Purify        []string            `json:"purify"`
	Aux           []string            `json:"aux"`
	NegVerbs      []string            `json:"neg_verbs"`
	NegForms      map[string]string   `json:"neg_forms"`
	NegAdverbs    []string            `json:"neg_adverbs"`
	States        map[string][]string `json:"states"`
	StateForms    map[string]string   `json:"state_forms"`
	Otherwise     []string            `json:"otherwise"`
	Measures      map[string]string   `json:"measures"`
	StateNouns    []string            `json:"state_nouns"`
	QuestionWords []string            `json:"question_words"`
	After         []string            `json:"after"`
	AfterForms    []string            `json:"after_forms"`
	Elapsed       []string            `json:"elapsed"` // after a duration only
	During        []string            `json:"during"`
	Connectors    []string            `json:"connectors"`
	Beside        []string            `json:"beside"`       // connectors: what follows begins with what was said before
	PersonVerbs   []string            `json:"person_verbs"` // particles of persons that are verbs behind all else: "공기 보고"
	Others        []string            `json:"others"`       // words that begin like a verb of ours and are none
	Since         []string            `json:"since"`
	Can           []string            `json:"can"`
	Exclude       []string            `json:"exclude"`
	Meanwhile     []string            `json:"meanwhile"`
	Fillers       []string            `json:"fillers"`
	Alone         []string            `json:"alone"` // fillers that count only between spaces
	Everything    []string            `json:"everything"`
	Work          []string            `json:"work"`
	Deictic       []string            `json:"deictic"`
	Here          []string            `json:"here"`
	Home          []string            `json:"home"`
	Brief         []string            `json:"brief"`
	Parts         []string            `json:"parts"`
	Units         map[string]int64    `json:"units"`
	Percent       []string            `json:"percent"`
	Clock         []string            `json:"clock"`
	Numerals      numerals            `json:"numerals"`
}

type numerals struct {
	SinoDigits map[string]int64 `json:"sino_digits"`
	SinoPowers map[string]int64 `json:"sino_powers"`
	Native     map[string]int64 `json:"native"`
	NativeTens map[string]int64 `json:"native_tens"`
	Half       string           `json:"half"`
}

// readData decodes one embedded file. They are our own, so a fault in them is our bug.
func readData(name string, into any) {
	data, err := dataFiles.ReadFile("data/" + name)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		panic(fmt.Sprintf("internal error: cannot read %s: %v", name, err))
	}
}

// readWords reads a list of words, by any space. Lines that begin with # say where they come from.
func readWords(name string) []string {
	data, err := dataFiles.ReadFile("data/" + name)
	if err != nil {
		panic(fmt.Sprintf("internal error: cannot read %s: %v", name, err))
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, strings.Fields(line)...)
		}
	}
	return out
}
