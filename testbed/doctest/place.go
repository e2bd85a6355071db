package doctest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	addressForm = regexp.MustCompile(`\b(127\.0\.0\.1|localhost):(\d{2,5})\b`)
	folderForm  = regexp.MustCompile(`(^|[^\w./-])(/(?:run|etc|var/lib|usr/share)/deviceagent)\b`)
	folders     = []string{"/run/deviceagent", "/etc/deviceagent", "/var/lib/deviceagent", "/usr/share/deviceagent"}
)

// places gives each port of this machine that a page names a free one, and each folder of an installed agent one of its own. So
// pages can be run beside each other, and beside a planner or an agent that somebody uses. What comes out is told in the page's words.
// The zero value changes nothing.
type places struct {
	root        string // stands for /
	there, back map[string]string
}

func newPlaces(root string, page Page) (*places, error) {
	p := &places{root: root, there: map[string]string{}, back: map[string]string{}}
	for _, dir := range folders {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return nil, fmt.Errorf("cannot make a folder: %w", err)
		}
	}
	for _, b := range page.Blocks {
		for _, m := range addressForm.FindAllStringSubmatch(b.Text, -1) {
			if p.there[m[2]] != "" {
				continue
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, fmt.Errorf("cannot find a free port: %w", err)
			}
			defer l.Close() // together at the end, so that they differ
			_, free, _ := strings.Cut(l.Addr().String(), ":")
			p.there[m[2]], p.back[free] = free, m[2]
		}
	}
	return p, nil
}

func (p *places) forRun(text string) string {
	if p.root == "" {
		return text
	}
	return folderForm.ReplaceAllString(swapPorts(text, p.there), "${1}"+p.root+"${2}")
}

func (p *places) forPage(text string) string {
	if p.root == "" {
		return text
	}
	return strings.ReplaceAll(swapPorts(text, p.back), p.root+"/", "/")
}

func swapPorts(text string, to map[string]string) string {
	return addressForm.ReplaceAllStringFunc(text, func(address string) string {
		host, port, _ := strings.Cut(address, ":")
		if other := to[port]; other != "" {
			return host + ":" + other
		}
		return address
	})
}
