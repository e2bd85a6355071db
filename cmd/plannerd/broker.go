package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
)

// brokerPacket is the largest packet of the lab's broker: a message of the contract and its topic fit twice.
const brokerPacket = 512 << 10

// labBroker is the broker of --broker embedded. It is for a lab on one machine: it keeps nothing, lets everybody in, and drops
// silently when a client lags far behind. So it listens on loopback only.
type labBroker struct {
	server   *mqtt.Server
	listener net.Listener
}

func startBroker(addr string) (*labBroker, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for MQTT: %w", err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		_ = l.Close()
		return nil, fmt.Errorf("cannot open the embedded broker on %s: it lets everybody in, so it serves this machine only; "+
			"use an external broker", addr)
	}
	caps := mqtt.NewDefaultServerCapabilities()
	caps.MaximumPacketSize = brokerPacket
	b := &labBroker{listener: l, server: mqtt.New(&mqtt.Options{Capabilities: caps, Logger: slog.New(slog.DiscardHandler)})}
	err = errors.Join(b.server.AddHook(new(everybody), nil), b.server.AddListener(listeners.NewNet("lab", l)), b.server.Serve())
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("cannot start embedded broker: %w", err)
	}
	return b, nil
}

func (b *labBroker) addr() string { return b.listener.Addr().String() }

func (b *labBroker) close() { _ = b.server.Close() }

// everybody lets all clients do everything.
type everybody struct{ mqtt.HookBase }

func (*everybody) ID() string { return "everybody" }

func (*everybody) Provides(b byte) bool {
	return b == mqtt.OnConnectAuthenticate || b == mqtt.OnACLCheck
}

func (*everybody) OnConnectAuthenticate(*mqtt.Client, packets.Packet) bool { return true }

func (*everybody) OnACLCheck(*mqtt.Client, string, bool) bool { return true }
