// Command deviceagentd is the agent on the robot. It carries plans out and proves them; see docs/architecture.md. Here are flags,
// signals and exit codes only: 0 stopped as asked, 1 could not start or go on, 2 a bad flag, setting or catalog.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/diode"

	"deviceagent/agent"
	"deviceagent/agent/clock"
	"deviceagent/agent/config"
	"deviceagent/agent/durable"
	"deviceagent/agent/reset"
	"deviceagent/agent/systemd"
	"deviceagent/bridge/catalogfile"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

// Exit codes: a bad setting, flag or catalog is 2; anything that ends a running agent is 1.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// options are the flags.
type options struct {
	files   []string
	set     map[string]string
	check   bool
	version bool
}

func main() { os.Exit(run()) }

func run() int {
	// The runtime ends a panic with exit code 2, which here means bad settings, and after which nobody starts the agent again. Like this it
	// ends by SIGABRT.
	debug.SetTraceback("crash")
	sd := systemd.Take()
	opt, err := flags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return refuse(sd, err)
	}
	if opt.version {
		fmt.Println("deviceagentd", agent.Version)
		return exitOK
	}
	cfg, origins, err := settings(opt)
	if err != nil {
		return refuse(sd, err)
	}
	if opt.check {
		cat, err := readCatalog(cfg.CatalogDir)
		if err != nil {
			return refuse(sd, err)
		}
		fmt.Printf("settings and catalog are good: device %s, catalog %.12s\n", cfg.DeviceID, cat.Etag)
		return exitOK
	}
	release, wiped, err := enterState(cfg.StateDir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		_ = sd.Tell(systemd.Status(err.Error())) // it was printed
		return exitError
	}
	defer release()
	if wiped != nil { // the settings of before named what is gone
		if cfg, origins, err = settings(opt); err != nil {
			return refuse(sd, err)
		}
	}
	cat, note, err := agent.Catalog(cfg.CatalogDir, cfg.StateDir, defaults.Files)
	if err != nil {
		return refuse(sd, err)
	}
	doors, err := sd.Doors()
	if err != nil {
		return refuse(sd, err)
	}
	return serve(sd, doors, wiped, agent.Options{Config: cfg, Origins: origins, Catalog: cat, Note: note})
}

// enterState holds state_dir for this process, so that no other opens its store, and finishes a factory reset that was asked for. release
// gives it back.
func enterState(dir string) (release func(), wiped *reset.Report, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("cannot make state_dir: %w", err)
	}
	if release, err = durable.Hold(dir); err != nil {
		return nil, nil, err
	}
	if wiped, err = reset.Finish(dir); err != nil {
		release()
	}
	return release, wiped, err
}

// refuse prints every fault, one a line, and tells systemd the first: `systemctl status` shows that line, wherever the log has gone to.
func refuse(sd *systemd.Service, err error) int {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for _, line := range lines {
		if sd.Journal {
			line = systemd.Priority(zerolog.ErrorLevel) + line
		}
		fmt.Fprintln(os.Stderr, line)
	}
	first := lines[0]
	if more := len(lines) - 1; more > 0 {
		first = fmt.Sprintf("%s (and %d more: journalctl -u deviceagent)", first, more)
	}
	_ = sd.Tell(systemd.Status(first)) // it was printed
	return exitUsage
}

func flags(args []string) (options, error) {
	opt := options{set: map[string]string{}}
	f := flagSet(&opt)
	f.Usage = usage
	settingFlags(f, &opt)
	if err := f.Parse(args); err != nil {
		return opt, err
	}
	if f.NArg() > 0 {
		return opt, fmt.Errorf("unexpected argument %q; see --help", f.Arg(0))
	}
	return opt, nil
}

// usage leaves the flags of the settings out: there are as many as settings.
func usage() {
	f := flagSet(&options{})
	fmt.Fprintln(f.Output(), "Usage of deviceagentd:")
	f.PrintDefaults()
	fmt.Fprintln(f.Output(), settingsAreFlags)
}

const settingsAreFlags = "Each setting is a flag, too, as in --device-id rb-0001: agent.toml(5) lists them."

// settingFlags makes a flag of each setting that is none yet: settings.md names them, and so does a fault.
func settingFlags(f *flag.FlagSet, opt *options) {
	for _, k := range config.Keys() {
		if f.Lookup(k.Flag) != nil {
			continue
		}
		set := func(text string) error { opt.set[k.Name] = text; return nil }
		if k.Kind == "true/false" {
			f.BoolFunc(k.Flag, k.Doc, set)
		} else {
			f.Func(k.Flag, k.Doc, set)
		}
	}
}

// flagSet is what the command line knows beside the settings; the manual page is made from it, too.
func flagSet(opt *options) *flag.FlagSet {
	f := flag.NewFlagSet("deviceagentd", flag.ContinueOnError)
	f.Func("config", "settings `file` in place of the installed ones; may be given again", func(s string) error {
		opt.files = append(opt.files, s)
		return nil
	})
	f.Func("set", "one setting as `key=value`, over all files; may be given again", func(s string) error {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("want key=value, as in log.level=debug")
		}
		opt.set[key] = value
		return nil
	})
	f.BoolFunc("hold", "load and show everything, dispatch nothing", func(string) error { opt.set["hold"] = "true"; return nil })
	f.BoolVar(&opt.check, "check", false, "check settings and catalog, then exit: 0 good, 2 not")
	f.BoolVar(&opt.version, "version", false, "print the version")
	return f
}

func settings(opt options) (config.Config, config.Origins, error) {
	files, err := config.DefaultFiles("/")
	if len(opt.files) > 0 {
		files, err = nil, nil
		for _, path := range opt.files {
			files = append(files, config.File{Path: path, Must: true})
		}
	}
	if err != nil {
		return config.Config{}, nil, err
	}
	return config.Load(config.Sources{Files: files, Environ: os.Environ(), Flags: opt.set})
}

// readCatalog reads the robot's own catalog, or the one built in.
func readCatalog(dir string) (*catalog.Catalog, error) {
	var files fs.FS = defaults.Files
	if dir != "" {
		files = os.DirFS(dir)
	}
	cat, _, err := catalogfile.Load(files)
	if err != nil && dir != "" {
		return nil, fmt.Errorf("catalog_dir %s: %w", dir, err)
	}
	return cat, err
}

func serve(sd *systemd.Service, doors systemd.Doors, wiped *reset.Report, o agent.Options) int {
	log, flush := logger(o.Config.Log.Level, sd.Journal)
	defer flush()
	if wiped != nil {
		log.Warn().Str("by", wiped.Wish.By).Str("reason", wiped.Wish.Why).Str("asked_at", wiped.Wish.At).Strs("removed", wiped.Removed).Strs("left", wiped.Left).
			Msg("factory reset done; a new store begins")
	}
	if o.Note != "" {
		log.Error().Str("note", o.Note).Msg("catalog not as it should be")
	}
	clk, err := clock.New(clock.Options{BootID: o.Config.Time.BootID, AssumeSynced: o.Config.Time.AssumeSynced})
	if err != nil {
		log.Error().Err(err).Msg("cannot read the clock")
		return exitError
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	o.Clock, o.Log, o.Machine, o.Watchdog = clk, log, agent.Machine(os.DirFS("/")), sd.Watchdog
	enter(&o, doors)
	o.Notify = func(state string) {
		if err := sd.Tell(state); err != nil {
			log.Warn().Err(err).Str("state", state).Int("missed", sd.Missed()).Msg("systemd not told")
		}
	}
	o.Notify("STATUS=checks the store, and comes back to what was open")
	a, err := agent.New(ctx, o)
	if err == nil {
		err = a.Run(ctx)
	}
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil && errors.Is(err, ctx.Err()): // asked to stop in the middle of the start: that is no fault
		log.Info().Err(err).Msg("stopped before it was ready")
		return exitOK
	case a == nil:
		log.Error().Err(err).Msg("agent cannot start")
		o.Notify(systemd.Status(err.Error()))
		return exitError
	}
	log.Error().Err(err).Msg("agent ended")
	return exitError
}

// enter takes the doors that systemd handed over: where they are its socket unit decides, whatever the settings say.
func enter(o *agent.Options, doors systemd.Doors) {
	for _, d := range []struct {
		door    net.Listener
		to      *net.Listener
		place   *string
		key, by string
	}{
		{doors.Read, &o.Read, &o.Config.Diag.ReadSocket, "diag.read_socket", "deviceagent-read.socket"},
		{doors.Control, &o.Control, &o.Config.Diag.ControlSocket, "diag.control_socket", "deviceagent-control.socket"},
		{doors.Executor, &o.Executor, &o.Config.Executor.Socket, "executor.socket", "deviceagent-executor.socket"},
	} {
		if d.door == nil {
			continue
		}
		*d.to, *d.place = d.door, d.door.Addr().String()
		o.Origins[d.key] = config.Origin{Layer: "systemd", Place: "systemd " + d.by}
	}
}

// flushTime bounds the wait for the last lines: who does not read them must not keep the agent from ending.
const flushTime = time.Second

// logger writes JSON lines through a bounded buffer: a reader that hangs must not stop the robot, it loses lines, which are counted.
// For the journal each line begins with its priority.
func logger(level string, journal bool) (zerolog.Logger, func()) {
	lvl, err := zerolog.ParseLevel(level)
	if err != nil {
		lvl = zerolog.InfoLevel
	}
	zerolog.TimeFieldFormat = time.RFC3339Nano
	mark := ""
	if journal {
		mark = systemd.Priority(zerolog.WarnLevel)
	}
	buffer := diode.NewWriter(os.Stderr, 4096, 0, func(missed int) {
		fmt.Fprintf(os.Stderr, "%s{\"level\":\"warn\",\"dropped\":%d,\"message\":\"log lines dropped\"}\n", mark, missed)
	})
	var w io.Writer = buffer
	if journal {
		w = systemd.Lines{W: buffer}
	}
	return zerolog.New(w).Level(lvl).With().Timestamp().Logger(), func() {
		done := make(chan struct{})
		go func() { // left behind where the reader hangs: the process ends
			defer close(done)
			buffer.Close()
		}()
		select {
		case <-done:
		case <-time.After(flushTime):
		}
	}
}
