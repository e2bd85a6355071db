package catalogfile

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
)

// Planner is planner.json: what the planner needs beside operations. Maps are never nil.
type Planner struct {
	Unsupported map[string]Unsupported     // unsupported_request_categories, by category
	QnATopics   map[string]catalog.Aliases // device_qna_topics: the words of each topic
	Identity    catalog.Aliases            // product_identity_anchors: words for the robot itself
	Hints       map[string]catalog.Aliases // classification_hints: the words of each cue
	RouterHints map[string]RouterHint      // router_hints, by route family
	Reasons     map[string]Sentence        // by reason_code; the device has them too
}

// Unsupported is a category of requests that this robot cannot do, and how it says so.
type Unsupported struct {
	Aliases catalog.Aliases `json:"aliases"`
	Refusal Sentence        `json:"refusal"`
}

// Sentence says one thing in each language. Those of Reasons may hold the placeholders {step}, {done}, {left} and {choice}: the step
// in words, what was done, what is left, which choice is offered. An empty filling leaves a space to trim.
type Sentence = catalog.Sentence

// RouterHint says when a route family is meant.
type RouterHint struct {
	When    string `json:"when"`
	NotWhen string `json:"not_when,omitempty"`
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

func (s *set) decodePlanner() Planner {
	p := Planner{
		Unsupported: section(s, "unsupported_request_categories", named[string, Unsupported]),
		QnATopics: section(s, "device_qna_topics", func(name string, t struct{ Aliases catalog.Aliases }) (string, catalog.Aliases) {
			return name, t.Aliases
		}),
		Hints:       section(s, "classification_hints", named[string, catalog.Aliases]),
		RouterHints: section(s, "router_hints", named[string, RouterHint]),
		Reasons:     section(s, "reasons", named[string, Sentence]),
	}
	s.catalog.Reasons, s.catalog.Questions = p.Reasons, section(s, "questions", named[string, Sentence])
	identity := section(s, "product_identity_anchors", named[string, []string])
	p.Identity = catalog.Aliases{Ko: identity["ko"], En: identity["en"]}
	s.placeholders("reasons", p.Reasons, "{step}", "{done}", "{left}", "{choice}")
	s.placeholders("questions", s.catalog.Questions, "{step}")
	return p
}

// placeholders looks for one that nobody fills in.
func (s *set) placeholders(name string, sentences map[string]Sentence, filled ...string) {
	for _, code := range slices.Sorted(maps.Keys(sentences)) {
		for _, found := range placeholder.FindAllString(sentences[code].Ko+sentences[code].En, -1) {
			if !slices.Contains(filled, found) {
				s.report(name, Fault{Line: s.sections[name][code].line, Path: name + "." + code, Message: found + " is none of " + strings.Join(filled, ", ")})
				s.bad[entry{name, code}] = true
			}
		}
	}
}
