// Command plannerd is the cloud planner endpoint: HTTP in front, MQTT towards the robots. It has flags, signals and exit codes;
// all else is in cloudlink/planner. It exits 0 after a stop that was asked for, 1 when it cannot go on, 2 when it was called wrongly.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // plans with a schedule are checked by zone

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/diode"
	"github.com/spf13/cobra"

	"deviceagent/cloudlink/planner"
	"deviceagent/cloudlink/planner/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errUsage marks a fault of the call.
var errUsage = errors.New("see plannerd --help")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var s settings
	cmd := &cobra.Command{
		Use:           "plannerd",
		Short:         "Cloud planner endpoint: turns what somebody said into plans for a robot, and follows them",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.validate(); err != nil {
				return errors.Join(err, errUsage)
			}
			return serve(cmd.Context(), s, stdout, stderr)
		},
	}
	s.flags(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return errors.Join(err, errUsage) })
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(evalCommand(stdout), turnCommand(stdout))
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, "plannerd:", err)
	if errors.Is(err, errUsage) || cmd.Flags().NArg() > 0 {
		return 2
	}
	return 1
}

// serve starts the parts in order, and stops them in reverse when ctx ends.
func serve(ctx context.Context, s settings, stdout, stderr io.Writer) (err error) {
	logs := diode.NewWriter(stderr, 1000, 10*time.Millisecond, func(lost int) {
		_, _ = fmt.Fprintf(stderr, "{\"level\":\"warn\",\"count\":%d,\"message\":\"log lines lost\"}\n", lost)
	})
	defer func() { _ = logs.Close() }()
	log := zerolog.New(logs).Level(logLevels[s.logLevel]).With().Timestamp().Logger()

	opt, err := parts(s, log)
	if err != nil {
		return err
	}
	var mqttAddr string
	if s.broker == embedded {
		b, err := startBroker(s.brokerListen)
		if err != nil {
			return err
		}
		defer b.close()
		mqttAddr, opt.Dial = b.addr(), plainDial(b.addr())
	} else if opt.Dial, err = dialer(s.broker, identity{s.brokerCA, s.brokerCert, s.brokerKey}, func(err error) {
		log.Warn().Err(err).Msg("file cannot be used, the last good one stands")
	}); err != nil {
		return err
	} else {
		mqttAddr = s.broker
	}
	if opt.HTTP, err = net.Listen("tcp", s.listen); err != nil {
		return fmt.Errorf("cannot listen for HTTP: %w", err)
	}
	defer func() { _ = opt.HTTP.Close() }()
	st, err := store.Open(ctx, s.db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	opt.Store, opt.AllowJSON, opt.Log = st, s.allowJSON, log.With().Str("component", "planner").Logger()
	server, err := planner.New(opt)
	if err != nil {
		return err
	}
	return runServer(ctx, server, fmt.Sprintf("ready http=%s mqtt=%s\n", opt.HTTP.Addr(), mqttAddr), readyOut(s.readyFD, stdout), log)
}

func runServer(ctx context.Context, server *planner.Server, line string, ready io.Writer, log zerolog.Logger) error {
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-server.Ready():
	}
	if _, err := io.WriteString(ready, line); err != nil {
		log.Warn().Err(err).Msg("ready line cannot be written")
	}
	log.Info().Msg("ready")
	err := <-ended
	log.Info().Err(err).Msg("stopped")
	return err
}

func readyOut(fd int, stdout io.Writer) io.Writer {
	if fd == 1 {
		return stdout
	}
	return os.NewFile(uintptr(fd), "ready-fd")
}
