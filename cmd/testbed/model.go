package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"deviceagent/testbed/modelserver"
)

// runModel serves a fake of a language model, for demos of plannerd.
func runModel(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("testbed model", flag.ContinueOnError)
	listen := f.String("listen", "127.0.0.1:8090", "address on this machine; port 0 takes a free one")
	behaviour := f.String("behave", "honest", "one of "+strings.Join(modelserver.Names(), " "))
	answers := f.String("answers", "", "`file` of what an honest one answers: a JSON object {\"utterance\", \"answer\"} a line")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	fake := modelserver.New()
	defer fake.Close()
	if err := fake.Behave(*behaviour); err != nil {
		return usageError{err}
	}
	if err := readAnswers(*answers, fake); err != nil {
		return err
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		_ = l.Close()
		return usageError{errors.New("--listen: a fake serves this machine only")}
	}
	server := &http.Server{Handler: fake, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	fmt.Printf("%s\nready http=%s\n", modelserver.Banner, l.Addr())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	fake.Close()
	_ = server.Close()
	<-ended
	return nil
}

func readAnswers(path string, fake *modelserver.Server) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot read answers: %w", err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var row struct {
			Utterance string
			Answer    json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil || row.Utterance == "" {
			return fmt.Errorf("cannot read answers: line %d of %s is no {\"utterance\", \"answer\"}", n, path)
		}
		fake.Answer(row.Utterance, row.Answer)
	}
	return lines.Err()
}
