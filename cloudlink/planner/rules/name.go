package rules

import (
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core/catalog"
)

// Name is what an operation with its arguments is called, as in the purpose of a step: "거실로 이동". A room stands in params by the name that
// is to be said. Empty: no words are known for it.
func (p *Planner) Name(method string, params wire.Object, locale string) string {
	lang := korean
	if strings.HasPrefix(strings.ToLower(locale), "en") {
		lang = english
	}
	var best *frame
	fit := -1
	for _, id := range sortedKeys(p.frames) {
		f := p.frames[id]
		if f.Method != catalog.Method(method) && (f.SayStop == nil || !f.does(catalog.Method(method))) {
			continue
		}
		_, given := params[f.Level]
		fits := map[bool]int{true: 2}[f.Level != "" && given] // one that sets a level is meant where there is one,
		if f.Level == "" {
			fits = 1 // and else one that sets none
		}
		if fits > fit {
			best, fit = f, fits
		}
	}
	if best == nil {
		return ""
	}
	in := intent{frame: best, method: catalog.Method(method), params: params}
	if best.RoomParam != "" {
		in.said, _ = params[best.RoomParam].V.(string)
	}
	return strings.Join(strings.Fields(purpose(lang, in)), " ")
}

// does says whether one of the acts of a frame is another operation.
func (f *frame) does(method catalog.Method) bool {
	for _, a := range f.Acts {
		if a.Method == method {
			return true
		}
	}
	return false
}
