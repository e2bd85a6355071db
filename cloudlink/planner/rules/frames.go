package rules

import (
	"deviceagent/taskmanager/core/catalog"
)

// framesOf gives the frames whose operations the catalog has, and one made of each public operation that no frame knows: a new
// robot function needs a catalog entry with aliases, no code.
func framesOf(cat *catalog.Catalog) (map[string]*frame, map[string]words) {
	var file framesFile
	readData("frames.json", &file)
	out := map[string]*frame{}
	served := map[catalog.Method]bool{}
	for i := range file.Frames {
		f := &file.Frames[i]
		for _, act := range sortedKeys(f.Acts) {
			if m := f.Acts[act].Method; m != "" {
				served[m] = true
				if !has(cat, m) {
					delete(f.Acts, act)
				}
			}
		}
		served[f.Method] = true
		if has(cat, f.Method) {
			out[f.ID] = f
		}
	}
	for _, method := range sortedMethods(cat) {
		op := cat.Operations[method]
		if !served[method] && has(cat, method) && len(op.Aliases.Ko)+len(op.Aliases.En) > 0 {
			out[string(method)] = frameFromCatalog(op)
		}
	}
	return out, file.LevelWords
}

// has says whether people may ask for the method at all.
func has(cat *catalog.Catalog, m catalog.Method) bool {
	op, ok := cat.Operations[m]
	return ok && (op.Visibility == "" || op.Visibility == "public")
}

func sortedMethods(cat *catalog.Catalog) []catalog.Method {
	names := map[string]bool{}
	for m := range cat.Operations {
		names[string(m)] = true
	}
	var out []catalog.Method
	for _, name := range sortedKeys(names) {
		out = append(out, catalog.Method(name))
	}
	return out
}

// frameFromCatalog reads the shape of an operation: a query is asked, a boolean "on" is switched, a room is gone to, the rest is
// started. A single integer parameter with limits is a level.
func frameFromCatalog(op catalog.Operation) *frame {
	f := &frame{ID: string(op.Method), Method: op.Method, fromCatalog: true, Acts: map[string]action{}}
	f.Say = speech{Ko: []string{firstWord(op) + " 실행", firstWord(op) + " 실행하고", firstWord(op) + " 기능을 실행할게요"}, En: "run " + string(op.Method)}
	for _, name := range sortedKeys(op.Params) {
		p := op.Params[name]
		switch {
		case p.Type == catalog.RoomRef && p.Required:
			f.RoomParam = name
		case p.Type == catalog.Integer && p.Minimum != nil && p.Maximum != nil && f.Level == "":
			f.Level = name
		}
	}
	switch _, onOff := op.Params["on"]; {
	case op.ReadOnly:
		f.Acts = map[string]action{"query": {}, "measure": {}, "state": {}}
	case onOff:
		for _, act := range []string{"on", "start", "do", "set"} {
			f.Acts[act] = action{Params: map[string]any{"on": true}}
		}
		for _, act := range []string{"off", "stop"} {
			f.Acts[act] = action{Params: map[string]any{"on": false}}
		}
	case f.Level != "":
		f.Acts = map[string]action{"set": {}, "up": {}, "down": {}, "do": {}}
	default:
		f.Acts = map[string]action{"on": {}, "start": {}, "do": {}}
	}
	return f
}

func firstWord(op catalog.Operation) string {
	if len(op.Aliases.Ko) > 0 {
		return op.Aliases.Ko[0]
	}
	return string(op.Method)
}
