package agents

import (
	"slices"
	"strings"

	"deviceagent/bridge/wire"
)

// content is what is told out of our own data: quizzes, stories, how to rest.
type content struct {
	quizzes []quiz
	stories []story
	resting map[string][]string // by language
}

type quiz struct {
	ID    string   `json:"id"`
	Level int      `json:"level"`
	Ko    question `json:"ko"`
	En    question `json:"en"`
}

type question struct {
	Ask    string   `json:"ask"`
	Answer string   `json:"answer"`
	Accept []string `json:"accept"`
}

func (q quiz) in(locale string) question {
	if english(locale) {
		return q.En
	}
	return q.Ko
}

type story struct {
	ID string `json:"id"`
	Ko tale   `json:"ko"`
	En tale   `json:"en"`
}

type tale struct {
	Title string   `json:"title"`
	Parts []string `json:"parts"`
}

func (s story) in(locale string) tale {
	if english(locale) {
		return s.En
	}
	return s.Ko
}

func ownContent() *content {
	return &content{quizzes: read[[]quiz]("quizzes.json"), stories: read[[]story]("stories.json"), resting: read[map[string][]string]("rest.json")}
}

// The kinds of content.
const (
	kindQuiz  = "quiz"
	kindStory = "story"
	kindNews  = "news"
)

// goOn says what comes next in a session that is open.
func (c *content) goOn(t Talk, m Memory, ev Event) ([]Words, Talk, Memory) {
	if t.Kind == kindQuiz {
		return c.nextQuiz(t, m, ev)
	}
	if t.Kind == kindReminder {
		words, next := nextReminder(t, ev)
		return words, next, m
	}
	if t.Kind == kindStory && ev.What == "user_response" && stops(ev.Text) {
		t.Ended = true
		return []Words{{Verb: "stop"}}, t, m // what is still queued there is not said
	}
	return nil, t, m
}

// remember notes what an ended session leaves behind.
func (c *content) remember(t Talk, m Memory, ev Event) Memory {
	if t.Kind != kindStory {
		return m
	}
	s, ok := c.story(t.Title)
	if !ok {
		return m
	}
	return m.heard(s.ID, t.From+max(0, int(ev.Position)-t.Before), len(s.in(t.Locale).Parts))
}

// rest tells how to rest.
func (c *content) rest(t Task) Outcome {
	lines := c.resting["ko"]
	if english(t.Locale) {
		lines = c.resting["en"]
	}
	text := strings.Join(lines, " ")
	return Outcome{Text: text, Words: inOrder(lines, "progress"), Output: map[string]any{"text": text}}
}

// inOrder makes words of lines; the last one ends the session.
func inOrder(lines []string, act string) (out []Words) {
	for i, line := range lines {
		w := Words{Text: line, Act: act}
		if i == len(lines)-1 {
			w.Act, w.Last = "done", true
		}
		out = append(out, w)
	}
	return out
}

func (c *content) story(id string) (story, bool) {
	i := slices.IndexFunc(c.stories, func(s story) bool { return s.ID == id })
	if i < 0 {
		return story{}, false
	}
	return c.stories[i], true
}

// beginStory tells a story from where it was left off: the one that is named, else one that was begun, else one that was not told lately.
func (c *content) beginStory(t Task) Outcome {
	s, known := c.choose(t)
	tale, from := s.in(t.Locale), t.Memory.Places[s.ID]
	if from >= len(tale.Parts) {
		from = 0
	}
	intro := "story_intro"
	if from > 0 {
		intro = "story_on"
	}
	lines := []string{say(t.Locale, intro, "title", tale.Title)}
	if !known {
		lines[0] = say(t.Locale, "no_story") + " " + lines[0]
	}
	talk := &Talk{Kind: kindStory, Locale: t.Locale, Title: s.ID, From: from, Before: len(lines), Ended: true}
	lines = append(lines, tale.Parts[from:]...)
	return Outcome{Text: strings.Join(lines, " "), Words: inOrder(lines, "progress"), Talk: talk}
}

// choose finds the story. False: another one was named, and is not here.
func (c *content) choose(t Task) (story, bool) {
	title := folded(t.text("title"))
	known := title == ""
	for _, s := range c.stories {
		for _, have := range []string{folded(s.Ko.Title), folded(s.En.Title), s.ID} {
			if title != "" && (strings.Contains(have, title) || strings.Contains(title, have)) {
				return s, true
			}
		}
	}
	for _, s := range c.stories {
		if t.Memory.Places[s.ID] > 0 {
			return s, known
		}
	}
	for _, s := range c.stories {
		if !slices.Contains(t.Memory.Told, s.ID) {
			return s, known
		}
	}
	oldest, _ := c.story(t.Memory.Told[0]) // all were told: the one that was told longest ago
	if oldest.ID == "" {
		oldest = c.stories[0]
	}
	return oldest, known
}

// Prefetch is a story in parts, to be kept by a device for times without a link: the one that is named, else the next one. Nil where the
// task tells something else.
func (a *Agents) Prefetch(t Task) (parts []wire.Part) {
	if kind := t.text("kind"); kind != kindStory && kind != "" {
		return nil
	}
	s, _ := a.content.choose(t)
	tale := s.in(t.Locale)
	for i, text := range append([]string{say(t.Locale, "story_intro", "title", tale.Title)}, tale.Parts...) {
		parts = append(parts, wire.Part{Part: s.ID, Position: int64(i + 1), Text: text})
	}
	return parts
}
