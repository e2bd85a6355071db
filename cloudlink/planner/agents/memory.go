package agents

import "slices"

// Memory is what is remembered of a device: how well its people know the answers, and how far they are in stories. It is kept as JSON.
type Memory struct {
	Level   int            `json:"level,omitempty"`   // of quizzes, 1 to 3; 0: none was ever asked
	Answers []bool         `json:"answers,omitempty"` // the last five, the latest last
	Asked   []string       `json:"asked,omitempty"`   // quizzes that were asked lately
	Places  map[string]int `json:"places,omitempty"`  // of a story: parts that were heard; only of one that was begun and not ended
	Told    []string       `json:"told,omitempty"`    // stories that were told to their end, the latest last
	// Chosen is the kind of content that somebody has chosen and that was not begun yet.
	Chosen   string `json:"chosen,omitempty"`
	ChosenMS int64  `json:"chosen_ms,omitempty"`
}

// Bounds of what is remembered.
const (
	answersKept = 5
	askedKept   = 20 // fewer than there are, so that one is always new
	levels      = 3
)

// answered notes one answer. The level follows the last five: four right of them lift it, four wrong lower it, and then it is counted anew.
func (m Memory) answered(level int, right bool) Memory {
	m.Level = max(1, level)
	m.Answers = append(slices.Clone(m.Answers), right)
	m.Answers = m.Answers[max(0, len(m.Answers)-answersKept):]
	good := 0
	for _, ok := range m.Answers {
		if ok {
			good++
		}
	}
	bad := len(m.Answers) - good
	switch {
	case good >= answersKept-1 && m.Level < levels:
		m.Level, m.Answers = m.Level+1, nil
	case bad >= answersKept-1 && m.Level > 1:
		m.Level, m.Answers = m.Level-1, nil
	}
	return m
}

func (m Memory) asked(id string) Memory {
	m.Asked = append(slices.Clone(m.Asked), id)
	m.Asked = m.Asked[max(0, len(m.Asked)-askedKept):]
	return m
}

// heard notes how far a story is; parts of parts: it was told to its end.
func (m Memory) heard(story string, parts, of int) Memory {
	places := map[string]int{}
	for id, n := range m.Places {
		places[id] = n
	}
	delete(places, story)
	if parts > 0 && parts < of {
		places[story] = parts
	}
	if parts >= of {
		m.Told = append(slices.DeleteFunc(slices.Clone(m.Told), func(id string) bool { return id == story }), story)
	}
	m.Places = places
	return m
}
