package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"deviceagent/testbed/conform"
)

// exitError ends the program with a code of its own.
type exitError struct {
	code int
	error
}

// Exit codes of testbed conform. Source: docs/conformance.md.
const (
	exitFailed     = 1
	exitCannotRun  = 2
	exitIncomplete = 3
)

// runConform checks a service of org.deviceagent.Executor1.
func runConform(ctx context.Context, args []string) error {
	opt, out, err := conformFlags(args)
	if err != nil {
		return flagError(err)
	}
	rep, err := conform.Run(ctx, opt)
	if err != nil {
		return exitError{exitCannotRun, err}
	}
	if err := out.write(rep); err != nil {
		return exitError{exitCannotRun, err}
	}
	switch rep.Outcome {
	case conform.SomeFailed:
		return exitError{exitFailed, fmt.Errorf("failed: %v", rep.Failed())}
	case conform.Incomplete:
		return exitError{exitIncomplete, fmt.Errorf("nothing failed, but not run: %v (leave out on purpose with --skip)", rep.NotRun())}
	}
	return nil
}

// conformOut says where the report goes.
type conformOut struct{ format, file string }

func (o conformOut) write(rep *conform.Report) error {
	if o.file != "" {
		f, err := os.Create(o.file)
		if err != nil {
			return fmt.Errorf("cannot write the report: %w", err)
		}
		if err := errors.Join(rep.WriteJSON(f), f.Close()); err != nil {
			return fmt.Errorf("cannot write the report: %w", err)
		}
	}
	if o.format == "json" {
		return rep.WriteJSON(os.Stdout)
	}
	return rep.WriteText(os.Stdout)
}

func conformFlags(args []string) (opt conform.Options, out conformOut, err error) {
	f := flag.NewFlagSet("testbed conform", flag.ContinueOnError)
	var restart, catalog, skip string
	f.StringVar(&opt.Bus, "bus", "", "`address` of the bus; empty: the system bus")
	f.StringVar(&opt.Service, "service", "", "well-known `name` of the service")
	f.StringVar(&opt.Path, "path", "", "of its object; empty: from the catalog, else the name with slashes for dots")
	f.StringVar(&opt.Method, "method", "", "an operation that takes some seconds; empty: the catalog's first that can be cancelled")
	f.Func("params", "its arguments, a JSON `object`; again: another set, for each next task (empty: made from the catalog)", objects(&opt.Params))
	f.Func("refuse-params", "arguments that it must refuse, a JSON `object`; may be given again", objects(&opt.Refuse))
	f.StringVar(&catalog, "catalog", "", "`folder` of a catalog, or file with entries beside the default ones: params, limits and evidence come from it")
	f.Func("expect-event", "event `name` that belongs to a task that is done; may be given again", func(s string) error { opt.Expect = append(opt.Expect, s); return nil })
	f.Func("prove", "context `KEY=VALUE` after a task that is done; VALUE is JSON, or $NAME for an argument; may be given again", wants(&opt.Prove))
	f.Func("at-rest", "context `KEY=VALUE` when nothing moves; may be given again", wants(&opt.AtRest))
	f.BoolVar(&opt.Durable, "durable", false, "the service remembers its tasks over a restart (as probe durable says in a catalog)")
	f.StringVar(&restart, "restart", "", "shell `command` that restarts the service; without it the restart is not checked")
	f.DurationVar(&opt.RestartTime, "restart-time", 0, "until it is back (default 30s)")
	f.DurationVar(&opt.Ack, "ack", 0, "to answer Invoke (default: the catalog's ack_ms, else 3s)")
	f.DurationVar(&opt.Answer, "answer", 0, "to answer any other call (default 3s)")
	f.DurationVar(&opt.Stop, "stop", 0, "from Cancel to Result cancelled (default: stop_ms, else 4s)")
	f.DurationVar(&opt.Hold, "hold", 0, "from Pause or Resume to Held (default: pause_ms, else 4s)")
	f.DurationVar(&opt.Timeout, "timeout", 0, "from Invoke to Result (default: timeout, else 2m)")
	f.DurationVar(&opt.Evidence, "evidence", 0, "from done to its evidence (default: evidence_timeout_ms, else 15s)")
	f.DurationVar(&opt.Settle, "settle", 0, "how long to listen for what must not come (default 1.5s)")
	f.IntVar(&opt.MaxRate, "max-rate", 0, "signals in any one second (default 100)")
	f.StringVar(&skip, "skip", "", "`ids` of checks to leave out on purpose, with commas")
	f.StringVar(&out.format, "o", "text", "`form` of the report on standard output: text or json")
	f.StringVar(&out.file, "out", "", "`file` for the JSON report, beside the other")
	if err := f.Parse(args); err != nil {
		return opt, out, err
	}
	switch {
	case f.NArg() > 0:
		return opt, out, fmt.Errorf("%q is no flag", f.Arg(0))
	case out.format != "text" && out.format != "json":
		return opt, out, fmt.Errorf("-o %s: text and json are the forms", out.format)
	}
	for id := range strings.SplitSeq(skip, ",") {
		if id != "" {
			opt.Skip = append(opt.Skip, conform.ID(id))
		}
	}
	if restart != "" {
		opt.Restart = func(ctx context.Context) error { return shell(ctx, restart) }
	}
	if catalog != "" {
		if opt.Catalog, err = conform.LoadCatalog(catalog); err != nil {
			return opt, out, err
		}
	}
	opt.Tell = func(line string) { fmt.Fprintln(os.Stderr, "conform:", line) }
	return opt, out, nil
}

// shell runs the caller's own command; what it says is for standard error.
func shell(ctx context.Context, command string) error {
	c := exec.CommandContext(ctx, "sh", "-c", command)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return c.Run()
}

func objects(to *[]map[string]any) func(string) error {
	return func(text string) error {
		var m map[string]any
		if err := strictJSON(text, &m); err != nil || m == nil {
			return errors.New("a JSON object is wanted, such as {\"angle\": 40}")
		}
		*to = append(*to, m)
		return nil
	}
}

func wants(to *[]conform.Want) func(string) error {
	return func(text string) error {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return errors.New("KEY=VALUE is wanted, such as head.angle=40 or head.angle=$angle")
		}
		w := conform.Want{Key: key, Value: value}
		if !strings.HasPrefix(value, "$") {
			if err := strictJSON(value, &w.Value); err != nil {
				return fmt.Errorf("%q is no JSON; a text is written \"in quotes\"", value)
			}
		}
		*to = append(*to, w)
		return nil
	}
}

func strictJSON(text string, to any) error {
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind it")
	}
	return nil
}
