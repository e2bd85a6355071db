package model

import (
	"fmt"
)

// Code names what went wrong with a model. Text: kept with the turn, logged, and in the docs.
type Code string

// The codes.
const (
	Unreachable  Code = "unreachable"  // no connection, or it broke
	Deadline     Code = "deadline"     // no whole answer in time
	Unauthorized Code = "unauthorized" // 401, 403
	NotFound     Code = "not_found"    // 404: the base URL or the name of the model
	Refused      Code = "refused"      // another 4xx
	Overloaded   Code = "overloaded"   // 429
	ServerFault  Code = "server_fault" // 5xx
	Redirected   Code = "redirected"   // 3xx: never followed, the prompt and the key are not for others
	NotJSON      Code = "not_json"     // another content type, or a frame that is no JSON of the provider
	TooLarge     Code = "too_large"    // more than answerBytes
	CutOff       Code = "cut_off"      // the model stopped in the middle of its answer
	Blocked      Code = "blocked"      // the server or the model declined to answer
	Empty        Code = "empty"        // no text
	BadAnswer    Code = "bad_answer"   // not what the schema says, or ids that nobody registered, also after the repair
	TooLong      Code = "too_long"     // the turn does not fit into the budget of the prompt; nothing was asked
	Resting      Code = "resting"      // it failed several times in a row; nothing was asked
)

// todo is what a person can do about it.
var todo = map[Code]string{
	Unreachable:  "see whether the server runs and whether the base URL is right",
	Deadline:     "give more time, or a smaller model",
	Unauthorized: "check the key file",
	NotFound:     "check the base URL and the name of the model",
	Refused:      "see the server's log: it may not know the model, response schemas, or a bound that is sent",
	Overloaded:   "see the quota of the key, or the load of the server",
	ServerFault:  "see the server's log",
	Redirected:   "give the URL to which it leads, if it is to be trusted",
	NotJSON:      "see whether the base URL leads to the API of this provider",
	TooLarge:     "see the server's log: no answer is that large",
	CutOff:       "raise the bound of the answer, or the context of the server",
	Blocked:      "see the rules of the server",
	Empty:        "see the server's log",
	BadAnswer:    "use a model or a server that keeps to response schemas",
	TooLong:      "raise the budget of the prompt",
	Resting:      "see the faults before this one",
}

// Fault is why a model was of no use. Its text names what, where and what to do, and never a key or a word of prompt or answer.
type Fault struct {
	Code   Code
	Op     string // what could not be done: "ask model tiny at 127.0.0.1:8080"
	Detail string // a status, a code word of the server, a place in the answer; never its text
	Err    error  // may be nil
}

func (f *Fault) Error() string {
	text := fmt.Sprintf("cannot %s: %s", f.Op, f.Code)
	if f.Detail != "" {
		text += " (" + f.Detail + ")"
	}
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	return text + "; " + todo[f.Code]
}

func (f *Fault) Unwrap() error { return f.Err }
