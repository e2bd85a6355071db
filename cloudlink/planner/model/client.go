package model

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"deviceagent/cloudlink/planner/turn"
)

// Bounds of one question.
const (
	answerBytes = 1 << 20 // a whole answer with its frame
	headerBytes = 64 << 10
	tries       = 3 // requests for one question, where the server says that it cannot just now
	backoff     = 250 * time.Millisecond
	leastRest   = 250 * time.Millisecond // with less time left nothing is asked any more
)

// client asks one server. It may be used by several goroutines at once.
type client struct {
	conf Config
	how  dialect
	http *http.Client
	at   string // "model tiny at 127.0.0.1:8080 (openai)", for faults
}

func newClient(conf Config) *client {
	u, err := url.Parse(conf.URL)
	if err != nil {
		panic("internal error: " + err.Error()) // validated
	}
	transport := &http.Transport{
		Proxy:                  nil, // no proxy variable is looked at: a prompt goes where the settings say
		DialContext:            (&net.Dialer{Timeout: conf.Deadline}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1
		DisableCompression:     true,                                                   // a small body could become a huge one
		MaxResponseHeaderBytes: headerBytes,
		DisableKeepAlives:      true, // a server that has just closed a kept connection would look like one that broke
	}
	return &client{conf: conf, how: dialects[conf.Provider], at: fmt.Sprintf("model %s at %s (%s)", conf.Model, u.Host, conf.Provider),
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// ask asks once, and again where the server says that it cannot just now and the deadline of ctx allows it. The call is filled in in
// any case: what was sent was sent.
func (c *client) ask(ctx context.Context, r Request) (a Answer, call turn.ModelCall, fault *Fault) {
	began := time.Now()
	call = turn.ModelCall{Purpose: r.Purpose, Model: c.conf.Model}
	user, fits := r.prompt(c.conf.PromptTokens)
	if !fits {
		return a, call, c.told(&call, &Fault{Code: TooLong}, began)
	}
	path, frame := c.how.request(c.conf, r, user)
	body, err := json.Marshal(frame)
	if err != nil {
		panic("internal error: " + err.Error()) // text, numbers, and JSON of ours
	}
	for try := 1; ; try++ {
		var wait time.Duration
		a, wait, fault = c.once(ctx, path, body, &call)
		// A refusal reports nothing and cost nothing that is known of: it does not make what is known unknown.
		call.InputTokens, call.OutputTokens = more(call.InputTokens, a.InputTokens), more(call.OutputTokens, a.OutputTokens)
		if fault == nil || wait < 0 || try == tries || !sleep(ctx, max(wait, backoff<<(try-1))) {
			return a, call, c.told(&call, fault, began)
		}
	}
}

// more adds what is known.
func more(before, now *int64) *int64 {
	if before == nil {
		return now
	}
	return sum(before, now)
}

func (c *client) told(call *turn.ModelCall, fault *Fault, began time.Time) *Fault {
	call.LatencyMS = time.Since(began).Milliseconds()
	if fault != nil {
		fault.Op = "ask " + c.at
		call.Fault = string(fault.Code)
	}
	return fault
}

// sleep waits, unless the deadline would leave no time to ask after that.
func sleep(ctx context.Context, d time.Duration) bool {
	if at, ok := ctx.Deadline(); ok && time.Until(at) < d+leastRest {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// never says that a fault is not to be tried again.
const never = -1 * time.Second

// once sends one request. wait is how long to wait before another one: never, or as the server says, 0 where it does not.
func (c *client) once(ctx context.Context, path string, body []byte, call *turn.ModelCall) (a Answer, wait time.Duration, fault *Fault) {
	var sent atomic.Int64
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Add(1) }})
	req, err := http.NewRequestWithContext(traced, http.MethodPost, c.conf.base()+path, bytes.NewReader(body))
	if err != nil {
		return a, never, &Fault{Code: Unreachable, Detail: "the request cannot be made"}
	}
	req.GetBody = nil // a broken connection is an answer: the library must not send it once more by itself
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "plannerd")
	if c.conf.Key != "" {
		c.how.sign(req.Header, string(c.conf.Key))
	}
	resp, err := c.http.Do(req)
	call.Requests += sent.Load()
	if err != nil {
		return a, never, lost(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return a, retryAfter(resp), statusFault(resp.StatusCode)
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return a, never, &Fault{Code: NotJSON, Detail: "content type"}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, answerBytes+1))
	switch {
	case err != nil:
		return a, never, lost(ctx, err)
	case len(data) > answerBytes:
		return a, never, &Fault{Code: TooLarge, Detail: fmt.Sprintf("over %d bytes", answerBytes)}
	}
	a, fault = c.how.answer(data)
	if fault == nil && a.Text == "" {
		fault = &Fault{Code: Empty}
	}
	return a, never, fault
}

// lost is a request without a whole answer. The library's error names the URL, which is no secret here, but says no more than this.
func lost(ctx context.Context, err error) *Fault {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return &Fault{Code: Deadline}
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return &Fault{Code: Unreachable, Detail: op.Op}
	}
	return &Fault{Code: Unreachable, Detail: "the connection broke"}
}

// statusFault names a status. The body is not read: it may repeat the prompt or the key.
func statusFault(status int) *Fault {
	f := &Fault{Detail: "status " + strconv.Itoa(status)}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f.Code = Unauthorized
	case status == http.StatusNotFound:
		f.Code = NotFound
	case status == http.StatusTooManyRequests:
		f.Code = Overloaded
	case status >= 300 && status < 400:
		f.Code = Redirected
	case status >= 400 && status < 500:
		f.Code = Refused
	case status >= 500:
		f.Code = ServerFault
	default:
		f.Code = NotJSON // a success that is none: 204, 206
	}
	return f
}

// retryAfter is how long a server asks to wait, in seconds or as a date; never where another request is of no use.
func retryAfter(resp *http.Response) time.Duration {
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		return never
	}
	said := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(said, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), 86_400)) * time.Second
	}
	if at, err := http.ParseTime(said); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
