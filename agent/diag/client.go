package diag

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// Client calls the API. Its errors are all *[Problem]: what the agent said, or why the agent could not be asked.
type Client struct {
	Socket  string        // for reading
	Control string        // for commands
	Wait    time.Duration // for the first byte of an answer; 0: 35 s, a little longer than the agent itself waits for a durable answer
	User    string        // whose login name the remedy names; "" means the present user
}

// Reply is the document that the agent answered with.
type Reply struct {
	Data json.RawMessage `json:"data"`
	AsOf AsOf            `json:"asOf"`
}

// Get reads a document. path is below /v1 and begins with a slash.
func (c *Client) Get(ctx context.Context, path string, query url.Values) (Reply, error) {
	for try := 0; ; try++ {
		rep, err := c.call(ctx, c.Socket, http.MethodGet, path, query, nil)
		p, _ := errors.AsType[*Problem](err)
		if p == nil || p.Code != string(CodeTooMany) || try == maxTries {
			return rep, err
		}
		// Somebody else of this user is looking, too: their looks are short.
		select {
		case <-time.After(time.Duration(50+rand.IntN(100*(try+1))) * time.Millisecond):
		case <-ctx.Done():
			return rep, err
		}
	}
}

// maxTries is how often a look is tried again while the user has too many connections: about two seconds in all.
const maxTries = 12

// Post sends a command. It is never repeated.
func (c *Client) Post(ctx context.Context, path string, query url.Values, body []byte) (Reply, error) {
	return c.call(ctx, c.Control, http.MethodPost, path, query, body)
}

func (c *Client) call(ctx context.Context, socket, method, path string, query url.Values, body []byte) (Reply, error) {
	var rep Reply
	h, line, done := c.http(socket)
	defer done()
	resp, err := h.Do(c.request(ctx, method, path, query, body))
	if err != nil {
		return rep, c.unreachable(ctx, line, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := problemIn(resp, socket); err != nil {
		return rep, err
	}
	if err := json.NewDecoder(resp.Body).Decode(&rep); err != nil {
		return rep, c.unreachable(ctx, line, err)
	}
	return rep, nil
}

func (c *Client) request(ctx context.Context, method, path string, query url.Values, body []byte) *http.Request {
	u := "http://deviceagent/" + APIVersion + path
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u, bytes.NewReader(body))
	if err != nil {
		panic("internal error: " + err.Error())
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

// line is the way to one socket. It notes whether anything came back.
type line struct {
	socket string
	heard  atomic.Bool
}

type listening struct {
	net.Conn
	line *line
}

func (l listening) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if n > 0 {
		l.line.heard.Store(true)
	}
	return n, err
}

func (c *Client) http(socket string) (*http.Client, *line, func()) {
	l := &line{socket: socket}
	wait := c.Wait
	if wait == 0 {
		wait = answerTimeout + 5*time.Second
	}
	t := &http.Transport{ResponseHeaderTimeout: wait, DisableCompression: true, MaxConnsPerHost: 1, Proxy: nil,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
			if err != nil {
				return nil, err
			}
			return listening{conn, l}, nil
		}}
	return &http.Client{Transport: t}, l, t.CloseIdleConnections
}

// problemIn reads what the agent says is wrong; nil where nothing is.
func problemIn(resp *http.Response, socket string) error {
	if resp.Header.Get("Deviceagent-Api") != APIVersion {
		return NewProblem(CodeWrongVersion, fmt.Sprintf("%s answers %s without the mark of API %s", socket, resp.Status, APIVersion),
			"install the deviceagentctl of the agent's version: deviceagentctl version")
	}
	if resp.StatusCode < 400 {
		return nil
	}
	var p Problem
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || p.Code == "" || p.Title == "" {
		return NewProblem(CodeWrongVersion, fmt.Sprintf("%s answers %s in a form that is not known here", socket, resp.Status), "deviceagentctl version")
	}
	if p.Exit == ExitOK {
		p.Exit = ExitError
	}
	return &p
}

// unreachable says why the agent could not be asked: one cause, one remedy.
func (c *Client) unreachable(ctx context.Context, l *line, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	socket := l.socket
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return NewProblem(CodeMissing, socket, "systemctl start deviceagent; another socket: --socket or DEVICEAGENT_SOCKET")
	case errors.Is(err, syscall.ECONNREFUSED):
		return NewProblem(CodeRefused, socket+"; the agent does not run", "systemctl status deviceagent; journalctl -u deviceagent -n 20")
	case errors.Is(err, fs.ErrPermission):
		return c.denied(socket)
	case errors.As(err, &timeout) && timeout.Timeout():
		return NewProblem(CodeSilent, socket+" takes connections; the agent starts or hangs", "systemctl status deviceagent; journalctl -u deviceagent -n 20")
	case errors.Is(err, syscall.ENOTSOCK) || errors.Is(err, syscall.EPROTOTYPE):
		return NewProblem(CodeWrongVersion, socket+" is not the socket of the agent", "--socket or DEVICEAGENT_SOCKET")
	}
	if l.heard.Load() && !errors.Is(err, io.ErrUnexpectedEOF) {
		return NewProblem(CodeWrongVersion, err.Error(), "what answers is not the agent: --socket or DEVICEAGENT_SOCKET")
	}
	return NewProblem(CodeSilent, "it closed the connection without an answer: it stops, or has too many connections", "try again; systemctl status deviceagent")
}

// denied names the group that may open the socket.
func (c *Client) denied(socket string) *Problem {
	group, who := "", c.User
	if info, err := os.Stat(socket); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().Perm()&0o060 == 0o060 && st.Gid != 0 { // nobody should be told to join root's group
			group = strconv.FormatUint(uint64(st.Gid), 10)
			if g, err := user.LookupGroupId(group); err == nil {
				group = g.Name
			}
		}
	}
	if who == "" {
		who = "USER"
		if u, err := user.Current(); err == nil {
			who = u.Username
		}
	}
	if group == "" {
		return NewProblem(CodePermission, "the mode of "+socket+" or of a directory above it does not let "+who+" in", "ls -ld "+filepath.Dir(socket)+" "+socket)
	}
	return NewProblem(CodePermission, socket+" is for group "+group, "sudo usermod -aG "+group+" "+who+", then log in again")
}
