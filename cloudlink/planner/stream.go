package planner

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const streamBeat = 15 * time.Second

// getStream tells changes as server-sent events until the reader goes or cannot keep up with one write for writeLimit.
func (s *Server) getStream(w http.ResponseWriter, req *http.Request) {
	r := s.hub.subscribe()
	if r == nil {
		writeProblem(w, &problem{Status: http.StatusServiceUnavailable, Code: "too_many_streams", Title: "too many readers of the stream"})
		return
	}
	defer s.hub.leave(r)
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	text := ": open\n\n"
	for {
		_ = out.SetReadDeadline(time.Time{})
		if out.SetWriteDeadline(time.Now().Add(writeLimit)) != nil {
			return
		}
		if _, err := fmt.Fprint(w, text); err != nil || out.Flush() != nil {
			return
		}
		select {
		case e := <-r.events:
			data, err := json.Marshal(e)
			if err != nil {
				return
			}
			text = fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Kind, data)
		case <-beat.C:
			text = ": beat\n\n"
		case <-req.Context().Done():
			return
		}
	}
}
