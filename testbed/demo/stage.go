package demo

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// startAll starts the parts in order, each when the one before it answers.
func (d *demo) startAll(ctx context.Context) error {
	if err := d.startPlanner(ctx); err != nil {
		return err
	}
	if err := d.chooseSpeed(ctx); err != nil {
		return err
	}
	var err error
	if d.witness, err = newWitness(d.mqtt, func(p publish) { d.send(p) }); err != nil {
		return err
	}
	if err := d.startAgent(); err != nil {
		return err
	}
	if err := d.until(ctx, "the agent", startLimit, func() (bool, error) { return d.starts > 0, nil }); err != nil {
		return err
	}
	if err := d.startRobot(); err != nil {
		return err
	}
	return d.until(ctx, "the robot to register and the link to be online", startLimit, func() (bool, error) {
		return d.executor && d.planner.online(ctx), nil
	})
}

func (d *demo) startPlanner(ctx context.Context) (err error) {
	if err := d.makeKeys(); err != nil {
		return err
	}
	d.plannerd, err = d.start("plannerd", "plannerd.log", func(line string) { d.send(readyLine(line)) }, nil,
		"--listen", "127.0.0.1:0", "--broker-listen", "127.0.0.1:0", "--db", d.file("planner.db"), "--signing-key", d.file("signing.pem"))
	if err != nil {
		return err
	}
	d.tell.note("  planner   plannerd, with a lab broker inside: makes a plan of words, needs no model")
	return d.until(ctx, "the planner", startLimit, func() (bool, error) { return d.planner != nil, nil })
}

// makeKeys makes the key by which the planner signs and its public half, which the agent believes, as two openssl commands would.
func (d *demo) makeKeys() error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return fmt.Errorf("cannot make a signing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return fmt.Errorf("cannot make a signing key: %w", err)
	}
	half, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return fmt.Errorf("cannot make a signing key: %w", err)
	}
	return errors.Join(
		os.WriteFile(d.file("signing.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600),
		os.WriteFile(d.file("trusted.pem"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: half}), 0o600))
}

// chooseSpeed asks the planner beforehand what the words will become where a crash is wanted, since a movement at full speed is
// over before anybody can pull the plug.
func (d *demo) chooseSpeed(ctx context.Context) error {
	chosen := float64(fastSpeed)
	if d.opt.Crash {
		preview, err := d.planner.say(ctx, d.opt.Say, false)
		if err != nil {
			return err
		}
		at, speed, ok := crashPoint(preview.Requests)
		if !ok {
			return callError{errors.New("cannot crash in the middle of nothing: say something that moves the robot or cleans")}
		}
		d.killAt, chosen = at, speed
	}
	if d.speed <= 0 {
		d.speed = chosen
	}
	return nil
}

func (d *demo) startAgent() (err error) {
	args := []string{"--config", "/dev/null"}
	for _, kv := range [][2]string{
		{"device_id", deviceID}, {"state_dir", d.file("state")}, {"run_dir", d.dir}, {"broker.url", "tcp://" + d.mqtt},
		{"executor.socket", d.file("executor.sock")}, {"diag.read_socket", d.file("diag.sock")},
		{"diag.control_socket", d.file("control.sock")}, {"time.assume_synced", "true"}, {"log.level", "debug"},
		{"require_signed", "true"}, {"trusted_keys_file", d.file("trusted.pem")},
		{"firmware.bus", "off"}, // this machine's own bus, and its sleep, are no matter of a robot that is played
	} {
		args = append(args, "--set", kv[0]+"="+kv[1])
	}
	d.agentd, err = d.start("deviceagentd", "agent.log", nil, func(line string) {
		if a, ok := readAgentLine(line); ok {
			d.send(a)
		}
	}, args...)
	if err == nil && d.starts == 0 {
		d.tell.note("  agent     deviceagentd: carries the plan out and proves it, as it would on the robot")
	}
	return err
}

func (d *demo) startRobot() (err error) {
	d.robotd, err = d.start("testbed", "robot.out", nil, nil, "robot", "--socket", d.file("executor.sock"),
		"--speed", strconv.FormatFloat(d.speed, 'g', -1, 64), "--log", d.file("robot.log"))
	if err != nil {
		return err
	}
	d.tell.note("  robot     testbed robot: a simulated flat with a robot in it, which keeps a log of its own")
	return nil
}

// start starts one program and hears of its end.
func (d *demo) start(name, log string, out, line func(string), args ...string) (*process, error) {
	path, err := program(d.opt.Bin, name)
	if err != nil {
		return nil, err
	}
	p, err := start(spec{name: name, path: path, args: args, logPath: d.file(log), out: out, line: line})
	if err != nil {
		return nil, err
	}
	go func() {
		<-p.done
		d.send(ended(p))
	}()
	return p, nil
}

// isCurrent says whether a process should be running now.
func (d *demo) isCurrent(p *process) bool { return p == d.plannerd || p == d.agentd || p == d.robotd }

func (d *demo) addresses() string {
	return fmt.Sprintf(`
Everything goes on running. Ctrl-C ends it.
  planner   %[1]s
            curl -s %[1]s/v1/turns -H 'Content-Type: application/json' -d '{"device_id":"%[2]s","recognized_text":"주방으로 가"}'
  broker    mqtt://%[3]s, topics deviceagent/v1/%[2]s/…
  agent     deviceagentctl --socket %[4]s/diag.sock status   (also: ps, show @last, watch)
  logs      agent.log, plannerd.log, robot.log in %[4]s`, d.planner.url, deviceID, d.mqtt, d.dir)
}
