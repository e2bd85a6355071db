package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// problem is an RFC 9457 answer. Code is for programs, hint says what to do about it, faults name all that is wrong with a plan.
type problem struct {
	Type   string       `json:"type"`
	Title  string       `json:"title"`
	Status int          `json:"status"`
	Code   string       `json:"code"`
	Detail string       `json:"detail,omitempty"`
	Hint   string       `json:"hint,omitempty"`
	Faults []wire.Fault `json:"faults,omitempty"`
	TurnID string       `json:"turn_id,omitempty"`
}

func (p *problem) Error() string { return p.Code + ": " + p.Title }

func notFound(what, id string) *problem {
	return &problem{Status: http.StatusNotFound, Code: "not_found", Title: "there is no such " + what, Detail: id}
}

// problemOf turns an error into an answer. What nobody classified is shown without its text: it is for our log.
func problemOf(err error) *problem {
	var p *problem
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &tooLarge):
		return &problem{Status: http.StatusRequestEntityTooLarge, Code: "too_large", Title: "the body is too large",
			Detail: fmt.Sprintf("at most %d bytes", tooLarge.Limit)}
	case errors.Is(err, context.Canceled): // we are ending; what has become of the request, its repeat will tell
		return errStopping
	case errors.Is(err, store.ErrNotFound):
		return &problem{Status: http.StatusNotFound, Code: "not_found", Title: "there is no such thing"}
	}
	return &problem{Status: http.StatusInternalServerError, Code: "internal", Title: "the planner could not do this",
		Hint: "the planner's log has the cause"}
}

func writeProblem(w http.ResponseWriter, p *problem) {
	q := *p // errStopping is shared
	q.Type = "urn:deviceagent:problem:" + q.Code
	writeAs(w, q.Status, "application/problem+json", q)
}

func writeJSON(w http.ResponseWriter, status int, v any) { writeAs(w, status, "application/json", v) }

func writeAs(w http.ResponseWriter, status int, contentType string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, `{"code":"internal"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that went away is no fault of ours
}
