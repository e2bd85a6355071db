package condition

import (
	"maps"
	"slices"
)

// Compare says whether `have op want` holds. Nothing is converted: a value of another kind than the constant answers Unknown, for
// eq and ne as well, since a source that sends "20" for 20 is broken and must neither permit nor refuse a motion. Null is no value:
// it is Unknown, and False for exists. The order operators know numbers only; words have no useful order ("bad" < "good").
// In is eq with any element of the list want; an empty list is False. Exists looks at have alone.
func Compare(op Op, have, want Value) Truth {
	switch op {
	case Exists:
		return truth(have != nil)
	case Eq, Ne:
		if have == nil || kindOf(have) == "" || kindOf(have) != kindOf(want) {
			return Unknown
		}
		return truth(Equal(have, want) == (op == Eq))
	case Lt, Le, Gt, Ge:
		return order(op, have, want)
	case In:
		return in(have, want)
	}
	return Unknown
}

// Equal compares two values deeply. Values of different kinds differ; NaN equals nothing; two nulls are equal.
func Equal(a, b Value) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, Equal)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, Equal)
	case nil, bool, float64, string:
		switch b.(type) {
		case nil, bool, float64, string:
			return a == b
		}
	}
	return false
}

func order(op Op, have, want Value) Truth {
	h, ok1 := have.(float64)
	w, ok2 := want.(float64)
	if !ok1 || !ok2 || kindOf(h) == "" || kindOf(w) == "" {
		return Unknown
	}
	switch op {
	case Lt:
		return truth(h < w)
	case Le:
		return truth(h <= w)
	case Gt:
		return truth(h > w)
	}
	return truth(h >= w)
}

func in(have, want Value) Truth {
	list, ok := want.([]any)
	if !ok {
		return Unknown
	}
	answer := False
	for _, element := range list {
		switch Compare(Eq, have, element) {
		case True:
			return True
		case Unknown:
			answer = Unknown
		}
	}
	return answer
}

// kindOf names the kind of a value; "" is what JSON cannot say, NaN and the infinities among it.
func kindOf(v Value) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if x-x == 0 { // false for NaN and the infinities
			return "number"
		}
	case []any:
		return "list"
	case map[string]any:
		return "object"
	}
	return ""
}

func truth(b bool) Truth {
	if b {
		return True
	}
	return False
}
