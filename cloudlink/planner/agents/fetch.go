package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// Bounds of one request.
const (
	callDeadline = 5 * time.Second
	maxBody      = 1 << 20
	maxRedirects = 3
)

// fetcher gets what an address says, within bounds. It goes where the settings name, and from there only to public addresses.
type fetcher struct {
	client  *http.Client
	named   map[string]bool // host:port of the settings: trusted to be where they are
	private bool
}

// fault is why nothing came.
type fault struct {
	reason string
	err    error
}

func (f *fault) Error() string { return f.reason + ": " + f.err.Error() }

func reasonOf(err error) string {
	if f, ok := errors.AsType[*fault](err); ok {
		return f.reason
	}
	return ReasonFailed
}

func newFetcher(src Sources) *fetcher {
	f := &fetcher{named: map[string]bool{}, private: src.Private}
	for _, text := range append([]string{src.WeatherURL, src.SearchURL}, urlsOf(src.Feeds)...) {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			f.named[hostPort(u)] = true
		}
	}
	dial := f.dial
	if src.Dial != nil {
		dial = src.Dial
	}
	f.client = &http.Client{
		Transport:     &http.Transport{DialContext: dial, DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: f.redirect,
	}
	return f
}

func urlsOf(feeds []Feed) (out []string) {
	for _, f := range feeds {
		out = append(out, f.URL)
	}
	return out
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

var errPrivate = errors.New("the address is not public")

// dial looks at the address itself, so that no name can stand for another one.
func (f *fetcher) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{}
	if !f.named[addr] && !f.private {
		d.Control = func(_, resolved string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(resolved)
			if err != nil || !public(ap.Addr().Unmap()) {
				return errPrivate
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, addr)
}

// reserved are the spaces of addresses that are neither public nor private by name: of this network, of a carrier, of protocols and tests,
// and those in which another address can hide. Source: the special-purpose registries of IANA.
var reserved = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10")

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, t := range texts {
		out = append(out, netip.MustParsePrefix(t))
	}
	return out
}

func public(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(ip.WithZone("")) })
}

func (f *fetcher) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return errors.New("it leads on and on")
	case req.URL.Scheme != "https" && (req.URL.Scheme != "http" || via[0].URL.Scheme == "https"):
		return fmt.Errorf("it leads to %s", req.URL.Scheme)
	}
	return nil
}

// get gives the body of an address with its content type. Errors: *fault.
func (f *fetcher) get(ctx context.Context, address string) (body []byte, kind string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", &fault{ReasonUnreachable, err}
	}
	req.Header.Set("User-Agent", "plannerd")
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, "", broken(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if reason := refused(resp.StatusCode); reason != "" {
		return nil, "", &fault{reason, fmt.Errorf("status %d", resp.StatusCode)}
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, "", broken(ctx, err)
	case len(body) > maxBody:
		return nil, "", &fault{ReasonUnreadable, fmt.Errorf("it is larger than %d bytes", maxBody)}
	}
	return body, resp.Header.Get("Content-Type"), nil
}

// broken says why a request got no whole answer.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &fault{ReasonLate, err}
	}
	return &fault{ReasonUnreachable, err}
}

func refused(status int) string {
	switch {
	case status == http.StatusOK:
		return ""
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return ReasonBusy
	}
	return ReasonFailed
}
