package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Header says in every answer that there is no model here.
const (
	Header = "X-Fake-Model"
	Banner = "testbed model: a fake, no language model answers here"
)

// Asked is one request as it came.
type Asked struct {
	Protocol string // gemini, openai
	Model    string
	Key      string // as it was shown; for tests only
	System   string
	User     string
	Schema   json.RawMessage
	Said     map[string]any // the user's part, which is a JSON object
}

// Server answers as its behaviour says. The zero value is honest. It may be changed while it serves.
type Server struct {
	mu        sync.Mutex
	behaviour string
	answers   map[string]json.RawMessage // by utterance
	words     map[string]string          // of narrow questions, by field
	owners    map[string]string          // what it said back of an utterance: it stays with that
	asked     []Asked
	elsewhere int // requests that followed a redirect
	stop      chan struct{}
	once      sync.Once
}

// New gives an honest server.
func New() *Server {
	return &Server{stop: make(chan struct{}), answers: map[string]json.RawMessage{}, words: map[string]string{}, owners: map[string]string{}}
}

// Close lets go of requests that are kept waiting.
func (s *Server) Close() { s.once.Do(func() { close(s.stop) }) }

// Behave sets how it answers from now on; see Behaviours.
func (s *Server) Behave(name string) error {
	if _, ok := find(name); !ok {
		return fmt.Errorf("cannot behave as %q: unknown; one of %s", name, strings.Join(Names(), ", "))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behaviour = name
	return nil
}

// Answer sets what an honest server answers to an utterance: any text, as a model would write it.
func (s *Server) Answer(utterance string, answer json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[utterance] = answer
}

// Narrow sets which word an honest server answers to a narrow question, by the one field of its schema (family, flow_id, object_type,
// replyability); otherwise it answers the first that is offered.
func (s *Server) Narrow(field, word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words[field] = word
}

// Asked gives the requests so far, oldest first.
func (s *Server) Asked() []Asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Asked(nil), s.asked...)
}

// Elsewhere counts the requests that came to where a redirect leads.
func (s *Server) Elsewhere() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.elsewhere
}

const requestBytes = 4 << 20

// ServeHTTP answers POST …/chat/completions and …/models/NAME:generateContent.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(Header, Banner)
	if strings.HasPrefix(r.URL.Path, "/elsewhere") {
		s.mu.Lock()
		s.elsewhere++
		s.mu.Unlock()
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, requestBytes))
	if err != nil {
		http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		return
	}
	p, ok := protocolOf(r.URL.Path)
	if !ok || r.Method != http.MethodPost {
		http.Error(w, Banner+"; POST …/chat/completions or …/models/NAME:generateContent", http.StatusNotFound)
		return
	}
	a, err := p.read(r, data)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, a)
	t := &trouble{w: w, r: r, p: p, asked: a, nth: len(s.asked), stop: s.stop}
	b, _ := find(s.behaviour)
	t.text = s.honest(a)
	s.mu.Unlock()
	b.do(t)
}

// honest is the answer of a file, or the draft said back.
func (s *Server) honest(a Asked) string {
	utterance, _ := a.Said["utterance"].(string)
	field, small := narrow(a)
	if word := s.words[field]; small && word != "" {
		return string(mustJSON(map[string]string{field: word}))
	}
	if answer, ok := s.answers[utterance]; ok && !small {
		return string(answer)
	}
	if owner := s.owners[utterance]; field == "family" && slices.Contains(enumOf(a.Schema), owner) {
		return string(mustJSON(map[string]string{field: owner}))
	}
	if draft, ok := a.Said["draft"].(map[string]any); ok {
		s.owners[utterance], _ = draft["owner_selection"].(string)
	}
	return echo(a)
}

// trouble is one request in the hands of a behaviour.
type trouble struct {
	w     http.ResponseWriter
	r     *http.Request
	p     protocol
	asked Asked
	nth   int    // of the server's life, from 1
	text  string // the honest answer
	stop  chan struct{}
}

// say sends a whole, well-formed frame around a text.
func (t *trouble) say(text string) { t.frame(t.p.frame(text, "stop", true)) }

func (t *trouble) frame(body []byte) {
	t.w.Header().Set("Content-Type", "application/json")
	_, _ = t.w.Write(body)
}

func (t *trouble) status(code int, header ...string) {
	for i := 0; i+1 < len(header); i += 2 {
		t.w.Header().Set(header[i], header[i+1])
	}
	t.w.Header().Set("Content-Type", "application/json")
	t.w.WriteHeader(code)
	// As hosted servers do, with a piece of what was sent: it must show up nowhere.
	_, _ = fmt.Fprintf(t.w, `{"error":{"message":"no, %s, not with key %s","code":%d}}`, strings.ReplaceAll(t.asked.Model, `"`, ""), t.asked.Key, code)
}

// wait holds the request until the client has gone, or the server is closed.
func (t *trouble) wait(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-t.r.Context().Done():
	case <-t.stop:
	}
	return false
}

func (t *trouble) flush() {
	if f, ok := t.w.(http.Flusher); ok {
		f.Flush()
	}
}
