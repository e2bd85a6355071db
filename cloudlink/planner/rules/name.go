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
	for _, id := range sortedKeys(p.frames) {
		f := p.frames[id]
		in := intent{frame: f, method: catalog.Method(method), params: params}
		if f.RoomParam != "" {
			in.said, _ = params[f.RoomParam].V.(string)
		}
		stops := f.SayStop != nil && f.Method != in.method && f.does(in.method)
		if f.Method == in.method || stops {
			return purpose(lang, in)
		}
	}
	return ""
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
