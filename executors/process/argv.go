package process

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// argv fills a template: each {name} is replaced by the argument of that name. An argument that would be read as an option, or that
// no program could be given, is an error: a word of a plan must not choose what the program does.
func argv(template []string, params core.Values) ([]string, error) {
	out := make([]string, len(template))
	for i, element := range template {
		names := catalog.Placeholders(element)
		for _, name := range names {
			text, err := argument(name, params[name])
			if err != nil {
				return nil, err
			}
			element = strings.ReplaceAll(element, "{"+name+"}", text)
		}
		if len(names) > 0 && strings.HasPrefix(element, "-") && strings.HasPrefix(template[i], "{") && !number(element) {
			return nil, fmt.Errorf("argument %q begins with '-' and would be read as an option", element)
		}
		out[i] = element
	}
	return out, nil
}

func number(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

func argument(name string, v condition.Value) (string, error) {
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return "", fmt.Errorf("%s holds a NUL, which no program can be given", name)
		}
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	}
	return "", fmt.Errorf("%s is missing", name)
}

// order is what a program reads on its standard input, one JSON object on one line.
type order struct {
	Task   core.TaskID    `json:"task_id"`
	Method catalog.Method `json:"method"`
	Params core.Values    `json:"params"`
}

func orderOf(d core.Dispatch) ([]byte, error) {
	o := order{d.Task, d.Method, d.Params}
	if o.Params == nil {
		o.Params = core.Values{}
	}
	text, err := json.Marshal(o)
	return append(text, '\n'), err
}
