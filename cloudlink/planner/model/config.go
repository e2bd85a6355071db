package model

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The providers. Each is a way to write the request and to read the answer.
const (
	Gemini = "gemini" // generateContent with a responseSchema
	OpenAI = "openai" // chat completions with response_format json_schema: llama.cpp, vLLM, Ollama, hosted
)

// When a model is asked.
const (
	Unclear = "unclear" // only where the rules are not certain
	Always  = "always"  // of every turn but one that stops something
)

// Config says which model is asked and how much that may cost. The names of the fields in faults are those of the flags.
type Config struct {
	Provider string
	URL      string // the base: what comes before /chat/completions or /models/…
	Model    string // its name there
	Key      Secret // "": none is sent
	Use      string // Unclear, Always

	Selector bool // ask which flow is looked at first (router.inline=false)
	Typer    bool // ask what a reply would be about, where the rules are not sure
	Judge    bool // ask whether a reply can begin at once, where the rules are not sure

	Deadline     time.Duration // of all that is asked for one turn, and of one escalation
	PromptTokens int           // bound of a prompt, as estimated here
	OutputTokens int           // bound of an answer, told to the server; 0: not told
	Temperature  float64       // negative: not told
}

// Bounds of the settings. A turn itself ends after 20 s (docs/planner-api.md), so a model has to have ended before.
const (
	leastDeadline = 100 * time.Millisecond
	mostDeadline  = 18 * time.Second
	leastPrompt   = 2_000
	mostPrompt    = 200_000
	mostOutput    = 32_000
)

var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$`)

// Validate names all faults, each beginning with its field.
func (c Config) Validate() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf(field+": "+format, args...))
	}
	if c.Provider != Gemini && c.Provider != OpenAI {
		bad("provider", "%q is none of %s, %s", c.Provider, Gemini, OpenAI)
	}
	if fault := c.urlFault(); fault != "" {
		bad("url", "%s", fault)
	}
	if !modelName.MatchString(c.Model) {
		bad("name", "%q is no name of a model", c.Model)
	}
	if !slices.Contains([]string{Unclear, Always}, c.Use) {
		bad("use", "%q is none of %s, %s", c.Use, Unclear, Always)
	}
	if c.Deadline < leastDeadline || c.Deadline > mostDeadline {
		bad("deadline", "%s is outside %s to %s", c.Deadline, leastDeadline, mostDeadline)
	}
	if c.PromptTokens < leastPrompt || c.PromptTokens > mostPrompt {
		bad("prompt-tokens", "%d is outside %d to %d", c.PromptTokens, leastPrompt, mostPrompt)
	}
	if c.OutputTokens < 0 || c.OutputTokens > mostOutput {
		bad("output-tokens", "%d is outside 0 to %d", c.OutputTokens, mostOutput)
	}
	if c.Temperature > 2 {
		bad("temperature", "%g is above 2", c.Temperature)
	}
	return errors.Join(errs...)
}

// urlFault says what is wrong with the base URL. It does not repeat the URL, which may hold a password that does not belong there.
func (c Config) urlFault() string {
	u, err := url.Parse(c.URL)
	switch {
	case c.URL == "":
		return "is missing; there is no default: name the server, as in http://127.0.0.1:8080/v1"
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "want http://host:port/… or https://host/…"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "a key, a query or a fragment does not belong into it; a key goes into a file"
	case u.Scheme == "http" && c.Key != "" && !loopbackHost(u.Hostname()):
		return "a key would go over the network in clear; use https"
	}
	return ""
}

// clear says whether prompts cross a network in clear.
func (c Config) clear() bool {
	u, err := url.Parse(c.URL)
	return err == nil && u.Scheme == "http" && !loopbackHost(u.Hostname())
}

func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// base is the URL without its last slash.
func (c Config) base() string { return strings.TrimRight(c.URL, "/") }

// Secret is text that must not be printed.
type Secret string

// String hides the text.
func (Secret) String() string { return "(secret)" }

// GoString hides the text.
func (Secret) GoString() string { return "(secret)" }
