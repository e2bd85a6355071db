package agents

import (
	"hash/fnv"
	"slices"
	"strings"
)

// remark is a kind of thing that people say, and what is answered to it.
type remark struct {
	Is    string              `json:"is"`
	Words map[string][]string `json:"words"` // by language; folded, found inside what was said
	Reply map[string][]string `json:"reply"`
}

var remarks = read[[]remark]("talk.json")

// converse answers small talk: what was said decides the kind, and among its answers always the same for the same words. The last
// remark has no words: it answers all else, and claims nothing.
func converse(text, locale string) string {
	lang := "ko"
	if english(locale) {
		lang = "en"
	}
	said := folded(text)
	for _, r := range remarks {
		fits := len(r.Words) == 0 || slices.ContainsFunc(r.Words[lang], func(w string) bool { return strings.Contains(said, folded(w)) })
		if fits && len(r.Reply[lang]) > 0 {
			h := fnv.New32a()
			_, _ = h.Write([]byte(said))
			return r.Reply[lang][int(h.Sum32()%uint32(len(r.Reply[lang])))]
		}
	}
	return ""
}
