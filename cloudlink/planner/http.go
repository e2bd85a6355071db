package planner

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"
)

// Bounds of HTTP.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeLimit        = 30 * time.Second // longer than planTimeout
	idleTimeout       = 60 * time.Second
	headerBytes       = 8 << 10
	turnBytes         = 32 << 10
	planBytes         = 256 << 10
	controlBytes      = 4 << 10
	httpConns         = 256
	stopWithin        = 5 * time.Second
)

//go:embed openapi.json
var openapi []byte

// route is one row of the table of routes; openapi.json must have the same rows.
type route struct {
	method, path string
	open         bool // without token: says nothing about robots
	handle       func(*http.Request) (int, any, error)
	stream       http.HandlerFunc
}

func (s *Server) routes() []route {
	return []route{
		{method: "POST", path: "/v1/turns", handle: s.postTurn},
		{method: "GET", path: "/v1/turns/{id}", handle: s.getTurn},
		{method: "GET", path: "/v1/devices", handle: s.getDevices},
		{method: "GET", path: "/v1/devices/{id}", handle: s.getDevice},
		{method: "POST", path: "/v1/devices/{id}/plans", handle: s.postPlan},
		{method: "POST", path: "/v1/devices/{id}/monitor", handle: s.postMonitor},
		{method: "GET", path: "/v1/devices/{id}/monitor", handle: s.getMonitor},
		{method: "POST", path: "/v1/devices/{id}/content", handle: s.postContent},
		{method: "GET", path: "/v1/workflows/{id}", handle: s.getWorkflow},
		{method: "POST", path: "/v1/workflows/{id}/cancel", handle: s.postCancel},
		{method: "GET", path: "/v1/experiences/{id}", handle: s.getExperience},
		{method: "POST", path: "/v1/workflows/{id}/pause", handle: s.postHold("pause")},
		{method: "POST", path: "/v1/workflows/{id}/resume", handle: s.postHold("resume")},
		{method: "POST", path: "/v1/workflows/{id}/answer", handle: s.postAnswer},
		{method: "POST", path: "/v1/devices/{id}/offers", handle: s.postOffer},
		{method: "GET", path: "/v1/preferences", handle: s.getPreferences},
		{method: "DELETE", path: "/v1/preferences/{id}", handle: s.deletePreference},
		{method: "GET", path: "/v1/schedules", handle: s.getSchedules},
		{method: "GET", path: "/v1/schedules/{id}", handle: s.getSchedule},
		{method: "PUT", path: "/v1/schedules/{id}", handle: s.putSchedule},
		{method: "POST", path: "/v1/schedules/{id}/cancel", handle: s.postScheduleCancel},
		{method: "GET", path: "/v1/stream", stream: s.getStream},
		{method: "GET", path: "/healthz", open: true, handle: s.getHealth},
		{method: "GET", path: "/readyz", open: true, handle: s.getReady},
		{method: "GET", path: "/openapi.json", open: true, handle: func(*http.Request) (int, any, error) {
			return http.StatusOK, json.RawMessage(openapi), nil
		}},
	}
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.Handle(r.method+" "+r.path, s.entry(r))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		status, code := http.StatusNotFound, "not_found"
		if allowed := s.methodsOf(r.URL.Path); allowed != "" {
			w.Header().Set("Allow", allowed)
			status, code = http.StatusMethodNotAllowed, "method_not_allowed"
		}
		writeProblem(w, &problem{Status: status, Code: code, Title: strings.ToLower(http.StatusText(status)), Hint: "see /openapi.json"})
	})
	return mux
}

// methodsOf says which methods a path has; empty: there is no such path.
func (s *Server) methodsOf(path string) string {
	var methods []string
	for _, r := range s.routes() {
		probe := http.NewServeMux()
		probe.HandleFunc(r.path, func(http.ResponseWriter, *http.Request) {})
		if _, pattern := probe.Handler(&http.Request{Method: r.method, URL: mustPath(path)}); pattern != "" {
			methods = append(methods, r.method)
		}
	}
	return strings.Join(methods, ", ")
}

func (s *Server) entry(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if p := s.admit(r, req); p != nil {
			writeProblem(w, p)
			return
		}
		if r.stream != nil {
			r.stream(w, req)
			return
		}
		status, body, err := r.handle(req)
		if err != nil {
			p := problemOf(err)
			if p.Status >= 500 {
				s.opt.Log.Error().Str("path", req.URL.Path).Err(err).Msg("request failed")
			}
			writeProblem(w, p)
			return
		}
		writeJSON(w, status, body)
	})
}

// admit checks who asks. TLS has checked a certificate before, where one is needed; a token is asked for all the same where there is
// one. With neither only this machine can connect; a page in its browser could too, so the Host must be this machine (a foreign name
// that points here is not) and a change must be JSON, which a plain form cannot send.
func (s *Server) admit(r route, req *http.Request) *problem {
	if s.opt.Token != "" {
		if !r.open && !s.tokenOK(req) {
			return &problem{Status: http.StatusUnauthorized, Code: "unauthorized", Title: "a bearer token is needed",
				Hint: "send Authorization: Bearer and the content of the token file"}
		}
	} else if !s.opt.TLS.mutual() && !localHost(req.Host) {
		return &problem{Status: http.StatusForbidden, Code: "foreign_host", Title: "this planner answers to this machine only",
			Detail: req.Host, Hint: "use 127.0.0.1 or localhost, or start it with a token file or certificates of clients"}
	}
	if req.Method == http.MethodPost {
		if kind, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return &problem{Status: http.StatusUnsupportedMediaType, Code: "not_json", Title: "the body must be JSON",
				Hint: "send Content-Type: application/json"}
		}
	}
	return nil
}

func (s *Server) tokenOK(req *http.Request) bool {
	given, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.opt.Token))
	return ok && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

func localHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// serveHTTP serves until ctx ends, then lets running requests end, but not for long.
func (s *Server) serveHTTP(ctx context.Context) error {
	srv := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeLimit,
		IdleTimeout: idleTimeout, MaxHeaderBytes: headerBytes, BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog: (&refusals{log: s.opt.Log, now: s.opt.Now}).logger(),
	}
	srv.Protocols = new(http.Protocols)
	srv.Protocols.SetHTTP1(true)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(s.secure(limitConns(s.opt.HTTP, httpConns))) }()
	select {
	case err := <-ended:
		return fmt.Errorf("cannot serve HTTP: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if srv.Shutdown(stop) != nil {
		_ = srv.Close()
	}
	<-ended
	return nil
}

// readBody reads one JSON value strictly: a typo is an error, not a default.
func readBody(req *http.Request, limit int64, into any) error {
	data, err := readBytes(req, limit)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &problem{Status: http.StatusBadRequest, Code: "malformed", Title: "the body cannot be read", Detail: err.Error()}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &problem{Status: http.StatusBadRequest, Code: "malformed", Title: "the body has more than one value"}
	}
	return nil
}

func readBytes(req *http.Request, limit int64) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(nil, req.Body, limit))
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) {
		err = &problem{Status: http.StatusBadRequest, Code: "malformed", Title: "the body could not be received"}
	}
	return data, err
}

func pathID(req *http.Request) (string, error) {
	id := req.PathValue("id")
	if !validID(id) {
		return "", &problem{Status: http.StatusBadRequest, Code: "bad_id", Title: "this is not an id",
			Hint: "1 to 128 characters of A-Z a-z 0-9 . _ : -"}
	}
	return id, nil
}

func (s *Server) getHealth(*http.Request) (int, any, error) {
	return http.StatusOK, map[string]any{"status": "ok"}, nil
}

// getReady is about taking work: the owner runs and the broker is there.
func (s *Server) getReady(*http.Request) (int, any, error) {
	status := http.StatusOK
	if !s.running.Load() || !s.linkOpen.Load() {
		status = http.StatusServiceUnavailable
	}
	return status, map[string]any{"ready": status == http.StatusOK, "broker": s.linkOpen.Load()}, nil
}
