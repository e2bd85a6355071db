// Command deviceagentctl is the field engineers' tool. It asks the agent over its diagnostic sockets and prints what it says.
//
// It promises that text is rendered from the same document that -o json prints, so that JSON never knows less; that stdout carries
// data only; that an exit code means one thing (the table in package diag); and that what is not known is a word and never 0. It
// must not decide anything about the robot, keep anything between two calls, or touch the agent's files, but for what an agent that does
// not run cannot do itself: get its identity, and be reset.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"deviceagent/agent/diag"
)

// version is set by the linker.
var version = "dev"

// errInterrupted is the cause of a context that a signal ended.
var errInterrupted = diag.NewProblem(diag.CodeInterrupted, "", "")

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	sig := make(chan os.Signal, 1)
	signal.Notify(sig, syscall.SIGINT, syscall.SIGTERM)
	go func() { // ends with the process
		<-sig
		signal.Stop(sig) // the second one kills
		cancel(errInterrupted)
	}()
	os.Exit(run(ctx, world{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.Getenv, zone: time.Local}))
}

// world is what surrounds a call.
type world struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	zone           *time.Location
}

// run carries out one call and returns its exit code.
func run(ctx context.Context, w world) int {
	a := &app{world: w, client: &diag.Client{}, end: func() {}}
	root := a.root()
	root.SetArgs(w.args)
	root.SetIn(w.stdin)
	root.SetOut(w.stdout)
	root.SetErr(w.stderr)
	err := root.ExecuteContext(ctx)
	a.end()
	if err == nil {
		return diag.ExitOK
	}
	p, ok := errors.AsType[*diag.Problem](err)
	switch {
	case ok:
	case a.ran:
		p = diag.NewProblem(diag.CodeInternal, err.Error(), "")
		p.Title = "deviceagentctl failed"
	default:
		p = diag.NewProblem(diag.CodeUsage, err.Error(), "deviceagentctl help")
		a.scan(w.args)
	}
	a.fail(p)
	return p.Exit
}

// scan finds the output form of a call that cobra could not read, so that its error has that form, too.
func (a *app) scan(args []string) {
	for i, arg := range args {
		for _, name := range []string{"-o", "--output"} {
			if arg == name && i+1 < len(args) {
				a.output = args[i+1]
			} else if v, ok := strings.CutPrefix(arg, name); ok && v != "" {
				a.output = strings.TrimPrefix(v, "=")
			}
		}
	}
	a.page = a.newPage()
}

// app is one call.
type app struct {
	world
	client *diag.Client
	page   page
	ran    bool   // the call was understood
	end    func() // of the time limit

	output    string
	lang      string
	color     string
	utc       bool
	noHeaders bool
	columns   []string
	timeout   time.Duration
}

// The output forms.
const (
	asText  = "text"
	asWide  = "wide"
	asJSON  = "json"
	asJSONL = "jsonl"
)

const streams = "streams" // annotation of a command that has the form jsonl
const plain = "plain"     // annotation of a command that has the form text only

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "deviceagentctl", Short: "Look into the agent on this robot, and operate it",
		Long: "Look into the agent on this robot, and operate it.\n\nAn ID may be cut to a prefix that only one has; @last is the plan accepted last, @failed the one that failed last.\n" +
			"Topics: deviceagentctl help exit-codes | states | reasons [CODE] | output",
		SilenceUsage: true, SilenceErrors: true, PersistentPreRunE: a.prepare,
	}
	f := root.PersistentFlags()
	f.StringVar(&a.client.Socket, "socket", orText(a.env("DEVICEAGENT_SOCKET"), "/run/deviceagent/diag.sock"), "the agent's socket for reading (DEVICEAGENT_SOCKET)")
	f.StringVar(&a.client.Control, "control-socket", a.env("DEVICEAGENT_CONTROL_SOCKET"), "the agent's socket for operating (DEVICEAGENT_CONTROL_SOCKET; default: control.sock beside --socket)")
	f.StringVarP(&a.output, "output", "o", asText, "text, wide, json, jsonl (one event a line: watch)")
	f.StringVar(&a.lang, "lang", language(a.env), "language of sentences: en, ko")
	f.StringVar(&a.color, "color", "auto", "auto, always, never")
	f.BoolVar(&a.utc, "utc", false, "times in UTC")
	f.BoolVar(&a.noHeaders, "no-headers", false, "tables without their header line")
	f.StringSliceVar(&a.columns, "columns", nil, "only these columns of a table, by their headers")
	f.DurationVar(&a.timeout, "timeout", 0, "give up waiting after this long, exit 8 (0: never)")
	root.AddCommand(a.statusCmd(), a.psCmd(), a.schedulesCmd(), a.showCmd(), a.whyCmd(), a.traceCmd(), a.experienceCmd(), a.watchCmd(), a.waitCmd(), a.submitCmd(), a.wishCmd("pause", "Hold a plan, one of its steps, or everything (--all); says that it is accepted, not that it is paused"),
		a.wishCmd("resume", "Release a hold; work goes on when nobody else holds it"), a.wishCmd("cancel", "Stop a plan, one of its steps, or everything (--all)"),
		a.wishCmd("kill", "Cancel without waiting for the clean-up: what may still move is named by status"), a.modeCmd(), a.tierCmd(), a.answerCmd(), a.contextCmd(), a.executorsCmd(),
		a.catalogCmd(), a.configCmd(), a.provisionCmd(), a.factoryResetCmd(), a.eraseCmd(), a.bundleCmd(), a.versionCmd())
	root.SetHelpCommand(a.helpCmd(root))
	root.InitDefaultCompletionCmd("completion")
	a.completions(root)
	return root
}

// prepare checks what every command shares.
func (a *app) prepare(cmd *cobra.Command, _ []string) error {
	a.page = a.newPage()
	forms := []string{asText, asWide, asJSON}
	switch {
	case cmd.Annotations[streams] != "":
		forms = append(forms, asJSONL)
	case cmd.Annotations[plain] != "" || cmd.HasParent() && cmd.Parent().Name() == "completion":
		forms = []string{asText}
	}
	if !contains(forms, a.output) {
		return usage("%s has no output form %q; it has %s", cmd.Name(), a.output, strings.Join(forms, ", "))
	}
	if a.lang != "en" && a.lang != "ko" {
		return usage("--lang is en or ko")
	}
	if !contains([]string{"auto", "always", "never"}, a.color) {
		return usage("--color is auto, always or never")
	}
	if a.timeout < 0 {
		return usage("--timeout is a duration like 90s")
	}
	if a.client.Control == "" {
		a.client.Control = sibling(a.client.Socket)
	}
	a.page, a.ran = a.newPage(), true
	if a.timeout > 0 {
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), a.timeout, diag.NewProblem(diag.CodeTimeLimit, "after "+a.timeout.String(), "the work goes on; deviceagentctl ps"))
		a.end = cancel
		cmd.SetContext(ctx)
	}
	return nil
}

func usage(format string, args ...any) error {
	return diag.NewProblem(diag.CodeUsage, sprintf(format, args...), "deviceagentctl help")
}

// isTTY says whether a stream is a terminal.
func isTTY(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
