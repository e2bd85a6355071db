package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"deviceagent/agent/config"
	"deviceagent/agent/diag"
)

// secretHere stands in place of a secret.
const secretHere = "[secret]"

// leastSecret is the shortest secret that is searched for by value: a shorter one stands in every text by chance.
const leastSecret = 4

// maxSecret bounds a file with a secret. Bytes.
const maxSecret = 64 << 10

// secretSettings name files whose content must never leave the robot.
var secretSettings = []string{"broker.password_file", "broker.key_file"}

// secrets goes over every byte that leaves. Nothing that is collected should have a secret in it; a settings file that somebody wrote a
// password into has, and that is the day on which the agent does not start and an archive is made.
type secrets struct {
	values map[string]bool
	found  int
}

// learn reads the secrets that settings name; notes are those that could not be read, and so are not searched for.
func (r *secrets) learn(rows []diag.Setting) (notes []string) {
	for _, row := range rows {
		name, err := strconv.Unquote(row.Value)
		if !slices.Contains(secretSettings, row.Key) || err != nil || name == "" {
			continue
		}
		if credential, ok := strings.CutPrefix(name, "credential:"); ok {
			name = filepath.Join("/run/credentials/deviceagent.service", filepath.Base(credential))
		}
		content, err := readSecret(name)
		if err != nil {
			notes = append(notes, fmt.Sprintf("what is in %s was not searched for: %v", row.Key, err))
			continue
		}
		r.secret(content)
	}
	return notes
}

// readSecret reads a small file that is one: neither a pipe that nobody writes to nor a device.
func readSecret(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is no file", name))
	}
	return io.ReadAll(io.LimitReader(f, maxSecret))
}

// rowsOf are the settings of the agent that runs, else those that it would start with.
func rowsOf(rep diag.Reply, err error, dir string) (rows []diag.Setting) {
	if err == nil && json.Unmarshal(rep.Data, &rows) == nil {
		return rows
	}
	c, from, ok := inForce(dir)
	if !ok {
		return nil
	}
	for _, s := range config.Show(c, from) {
		rows = append(rows, diag.Setting{Key: s.Key, Value: s.Value, Origin: s.Origin.Place})
	}
	return rows
}

// secret notes the content of a file with a secret: of a key every line, of anything else the whole and its lines.
func (r *secrets) secret(content []byte) {
	if block, _ := pem.Decode(content); block != nil {
		for rest := content; ; {
			if block, rest = pem.Decode(rest); block == nil {
				return
			}
			if strings.Contains(block.Type, "PRIVATE") {
				r.value(base64.StdEncoding.EncodeToString(block.Bytes))
				for line := range strings.Lines(string(pem.EncodeToMemory(&pem.Block{Type: "X", Bytes: block.Bytes}))) {
					if !strings.HasPrefix(line, "-") {
						r.value(line)
					}
				}
			}
		}
	}
	r.value(string(content))
	for line := range strings.Lines(string(content)) {
		r.value(line)
	}
}

func (r *secrets) value(text string) {
	text = strings.TrimSpace(text)
	if len(text) < leastSecret {
		return
	}
	r.values[text], r.values[url.QueryEscape(text)], r.values[escaped(text)] = true, true, true
}

// escaped is a text as it stands in JSON.
func escaped(text string) string {
	raw, err := json.Marshal(text)
	if err != nil || len(raw) < 2 {
		return text
	}
	return string(raw[1 : len(raw)-1])
}

// shapes are secrets by what they look like, whoever wrote them.
var shapes = []struct {
	form *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`), secretHere},
	{regexp.MustCompile(`([a-z][a-z0-9+.-]*://)[^\s/@":]*:[^\s/@"]+@`), "${1}" + secretHere + "@"},
	{regexp.MustCompile(`(?i)\b(password|passwd|secret|token|authorization|bearer)("?\s*[=:]\s*"?)(bearer )?[^\s"',;}]{4,}`), "${1}${2}" + secretHere},
}

// clean takes the secrets out. Longer ones go first: one may be a part of another.
func (r *secrets) clean(data []byte) []byte {
	for _, text := range longestFirst(r.values) {
		if n := bytes.Count(data, []byte(text)); n > 0 {
			data = bytes.ReplaceAll(data, []byte(text), []byte(secretHere))
			r.found += n
		}
	}
	for _, s := range shapes {
		r.found += len(s.form.FindAllIndex(data, -1))
		data = s.form.ReplaceAll(data, []byte(s.to))
	}
	return data
}

func longestFirst(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for text := range set {
		out = append(out, text)
	}
	slices.SortFunc(out, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return out
}
