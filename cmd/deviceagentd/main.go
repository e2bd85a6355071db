// Command deviceagentd is the agent on the robot. It carries plans out and proves them; see docs/architecture.md. Here are flags,
// signals and exit codes only: 0 stopped as asked, 1 could not start or go on, 2 a bad flag, setting or catalog.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/diode"

	"deviceagent/agent"
	"deviceagent/agent/clock"
	"deviceagent/agent/config"
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
	opt, err := flags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUsage
	}
	if opt.version {
		fmt.Println("deviceagentd", agent.Version)
		return exitOK
	}
	cfg, origins, err := settings(opt)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUsage
	}
	if opt.check {
		cat, err := readCatalog(cfg.CatalogDir)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return exitUsage
		}
		fmt.Printf("settings and catalog are good: device %s, catalog %.12s\n", cfg.DeviceID, cat.Etag)
		return exitOK
	}
	cat, note, err := agent.Catalog(cfg.CatalogDir, cfg.StateDir, defaults.Files)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUsage
	}
	return serve(cfg, origins, cat, note)
}

func flags(args []string) (options, error) {
	opt := options{set: map[string]string{}}
	f := flagSet(&opt)
	if err := f.Parse(args); err != nil {
		return opt, err
	}
	if f.NArg() > 0 {
		return opt, fmt.Errorf("unexpected argument %q; see --help", f.Arg(0))
	}
	return opt, nil
}

// flagSet is what the command line knows; the manual page is made from it, too.
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

func serve(cfg config.Config, origins config.Origins, cat *catalog.Catalog, note string) int {
	log, flush := logger(cfg.Log.Level)
	defer flush()
	if note != "" {
		log.Error().Str("note", note).Msg("catalog not as it should be")
	}
	notify := agent.Notifier(log)
	clk, err := clock.New(clock.Options{BootID: cfg.Time.BootID, AssumeSynced: cfg.Time.AssumeSynced})
	if err != nil {
		log.Error().Err(err).Msg("cannot read the clock")
		return exitError
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	a, err := agent.New(ctx, agent.Options{Config: cfg, Origins: origins, Catalog: cat, Clock: clk, Log: log, Notify: notify, Machine: agent.Machine(os.DirFS("/")), Note: note})
	if err != nil {
		log.Error().Err(err).Msg("agent cannot start")
		return exitError
	}
	if err := a.Run(ctx); err != nil {
		log.Error().Err(err).Msg("agent ended")
		return exitError
	}
	return exitOK
}

// logger writes JSON lines through a bounded buffer: a reader that hangs must not stop the robot, it loses lines, which are counted.
func logger(level string) (zerolog.Logger, func()) {
	lvl, err := zerolog.ParseLevel(level)
	if err != nil {
		lvl = zerolog.InfoLevel
	}
	zerolog.TimeFieldFormat = time.RFC3339Nano
	w := diode.NewWriter(os.Stderr, 4096, 0, func(missed int) {
		fmt.Fprintf(os.Stderr, "{\"level\":\"warn\",\"dropped\":%d,\"message\":\"log lines dropped\"}\n", missed)
	})
	return zerolog.New(w).Level(lvl).With().Timestamp().Logger(), func() { w.Close() }
}
