package diag

import (
	"context"
	"encoding/json"
	"errors"
	stdlog "log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/agent/local"
	"deviceagent/taskmanager/core"
)

// Bounds of the API. Source: docs/cli.md, bounds.
const (
	headerTimeout = 5 * time.Second
	maxHeader     = 8 << 10
	maxBody       = 256 << 10 // of a plan; the contract's limit of a message
	writeTimeout  = 10 * time.Second
	bodyTimeout   = 10 * time.Second
	idleTimeout   = 60 * time.Second
	lookTimeout   = 5 * time.Second // for a look at the state
	answerTimeout = local.AnswerTimeout
	heartbeat     = 15 * time.Second
	perUID        = 8
	maxGuests     = 128
	ringSize      = 1024
	stopTimeout   = 2 * time.Second
)

// server is the API while it is served.
type server struct {
	agent     Agent
	log       zerolog.Logger
	hub       *hub
	zone      *time.Location
	wall      func() time.Time
	write     time.Duration
	look      time.Duration
	heartbeat time.Duration
	door      *door
	stopping  chan struct{}
}

func newServer(a Agent, log zerolog.Logger) *server {
	return &server{agent: a, log: log, hub: newHub(ringSize), zone: time.Local, wall: time.Now, write: writeTimeout, look: lookTimeout, heartbeat: heartbeat,
		door: &door{perUID: perUID, total: maxGuests, log: log, peer: peerOf}, stopping: make(chan struct{})}
}

// Serve answers on both sockets until ctx ends, and returns nil then. It closes the listeners. read serves looks only; control
// serves looks and commands. An error says which socket failed.
func Serve(ctx context.Context, read, control net.Listener, a Agent, log zerolog.Logger) error {
	return newServer(a, log).serve(ctx, read, control)
}

func (s *server) serve(ctx context.Context, read, control net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { s.hub.run(ctx, s.agent, s.wall) })
	failed := make(chan error, 2)
	var servers []*http.Server
	for _, door := range []struct {
		l       net.Listener
		handler http.Handler
	}{{read, s.handler(false)}, {control, s.handler(true)}} {
		srv := s.httpServer(door.handler)
		servers = append(servers, srv)
		wg.Go(func() { failed <- srv.Serve(gate{door.l, s.door}) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	close(s.stopping)
	bound, done := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer done()
	for _, srv := range servers {
		if srv.Shutdown(bound) != nil {
			_ = srv.Close()
		}
	}
	cancel()
	wg.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

func (s *server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader, WriteTimeout: answerTimeout + s.write, IdleTimeout: idleTimeout,
		ConnContext: withGuest, ErrorLog: stdlog.New(s.log, "", 0), DisableGeneralOptionsHandler: true,
	}
}

// reply is an answer before it is written.
type reply struct {
	data   any
	asOf   AsOf
	status int // 0: 200
}

// route is one path of the API.
type route struct {
	method, path string
	control      bool // on the control socket only
	answer       func(*server, *http.Request) (reply, *Problem)
	stream       func(*server, http.ResponseWriter, *http.Request)
}

// routes is the API. openapi.json says the same; a test holds them together.
var routes = []route{
	{method: "GET", path: "/v1/status", answer: (*server).status},
	{method: "GET", path: "/v1/version", answer: (*server).version},
	{method: "GET", path: "/v1/workflows", answer: (*server).workflows},
	{method: "GET", path: "/v1/workflows/{id}", answer: (*server).workflow},
	{method: "GET", path: "/v1/workflows/{id}/why", answer: (*server).why},
	{method: "GET", path: "/v1/workflows/{id}/why/{step}", answer: (*server).why},
	{method: "GET", path: "/v1/trace/{id}", answer: (*server).trace},
	{method: "GET", path: "/v1/experiences/{id}", answer: (*server).experience},
	{method: "GET", path: "/v1/watch", stream: (*server).watch},
	{method: "GET", path: "/v1/schedules", answer: (*server).schedules},
	{method: "GET", path: "/v1/context", answer: (*server).context},
	{method: "GET", path: "/v1/executors", answer: (*server).executors},
	{method: "GET", path: "/v1/config", answer: (*server).config},
	{method: "POST", path: "/v1/plans", control: true, answer: (*server).submit},
	{method: "POST", path: "/v1/workflows/{id}/pause", control: true, answer: wish("pause")},
	{method: "POST", path: "/v1/workflows/{id}/resume", control: true, answer: wish("resume")},
	{method: "POST", path: "/v1/workflows/{id}/cancel", control: true, answer: wish("cancel")},
	{method: "POST", path: "/v1/workflows/{id}/kill", control: true, answer: wish("kill")},
	{method: "POST", path: "/v1/cancel", control: true, answer: wishAll("cancel")},
	{method: "POST", path: "/v1/kill", control: true, answer: wishAll("kill")},
	{method: "POST", path: "/v1/pause", control: true, answer: wishAll("pause")},
	{method: "POST", path: "/v1/resume", control: true, answer: wishAll("resume")},
	{method: "POST", path: "/v1/mode", control: true, answer: (*server).mode},
	{method: "POST", path: "/v1/tier", control: true, answer: (*server).tier},
	{method: "POST", path: "/v1/questions/{id}/answer", control: true, answer: (*server).answer},
	{method: "GET", path: "/v1/identity", answer: (*server).identity},
	{method: "POST", path: "/v1/identity/renew", control: true, answer: (*server).renew},
	{method: "POST", path: "/v1/identity/certificate", control: true, answer: (*server).certify},
	{method: "POST", path: "/v1/erase", control: true, answer: (*server).erase},
	{method: "POST", path: "/v1/factory-reset", control: true, answer: (*server).factoryReset},
}

func (s *server) handler(control bool) http.Handler {
	mux := http.NewServeMux()
	for _, rt := range routes {
		if rt.control && !control {
			continue
		}
		mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) {
			if rt.stream != nil {
				rt.stream(s, w, r)
				return
			}
			if rt.method == http.MethodPost {
				bodyDeadline(w)
			}
			ans, p := rt.answer(s, r)
			if p != nil {
				if ans.asOf.DeviceTime != "" {
					p.AsOf = &ans.asOf
				}
				s.problem(w, p)
				return
			}
			s.send(w, max(ans.status, http.StatusOK), "application/json", Document{Data: ans.data, AsOf: ans.asOf})
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.problem(w, s.noRoute(mux, r)) })
	return s.guarded(mux, control)
}

// guarded is what every request passes: who it is from, whether the user has too many connections, whether the socket takes commands.
func (s *server) guarded(next http.Handler, control bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Deviceagent-Api", APIVersion)
		w.Header().Set("Cache-Control", "no-store")
		g := guestOf(r.Context())
		read := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case g == nil:
			s.problem(w, NewProblem(CodeNoCredentials, "", ""))
		case g.over:
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			s.problem(w, NewProblem(CodeTooMany, "uid "+utoa(g.UID)+" has "+plural(s.door.perUID, "connection")+" already", "end a watch that nobody looks at, then try again"))
		case !read && !control:
			s.problem(w, NewProblem(CodeControlSocket, "", "use the control socket; its group is the one that may operate the robot"))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (s *server) noRoute(mux *http.ServeMux, r *http.Request) *Problem {
	for _, m := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = m
		if _, pattern := mux.Handler(other); pattern != "/" && pattern != "" {
			return NewProblem(CodeMethod, r.Method+" "+r.URL.Path, "use "+m)
		}
	}
	return NewProblem(CodeNotFound, r.URL.Path, "paths begin with /"+APIVersion)
}

func (s *server) problem(w http.ResponseWriter, p *Problem) {
	s.send(w, p.Status, "application/problem+json", p)
}

func (s *server) send(w http.ResponseWriter, status int, kind string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		s.log.Error().Err(err).Msg("diagnostic document not encoded")
		status, kind = http.StatusInternalServerError, "application/problem+json"
		body, _ = json.Marshal(NewProblem(CodeInternal, "the document cannot be encoded", ""))
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.write))
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that has gone is no fault of ours
}

// inspect looks at the state, for a bounded time.
func (s *server) inspect(ctx context.Context, f func(*core.State, core.Now)) *Problem {
	ctx, cancel := context.WithTimeout(ctx, s.look)
	defer cancel()
	err := s.agent.Inspect(ctx, f)
	if err == nil {
		return nil
	}
	return s.unreachable(err)
}

// unreachable names why the owner of the state does not answer.
func (s *server) unreachable(err error) *Problem {
	switch phase := s.agent.Status().Phase; {
	case phase == Starting:
		return NewProblem(CodeStarting, "", "try again in a moment; journalctl -u deviceagent -n 20")
	case phase == Stopping || !errors.Is(err, context.DeadlineExceeded):
		return NewProblem(CodeStopping, "", "systemctl status deviceagent")
	}
	return NewProblem(CodeBusy, "no look at the state within "+s.look.String(), "journalctl -u deviceagent -n 20")
}
