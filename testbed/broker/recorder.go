package broker

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

// Message is one message as an outside subscriber got it.
type Message struct {
	Topic    string
	Payload  []byte
	Retained bool // came from the retained store, not live
	Dup      bool
	At       time.Time // of arrival
}

// Recorder is an independent MQTT client that keeps everything its filter lets through: the witness who counts, not the agent.
type Recorder struct {
	client mqtt.Client
	once   sync.Once

	mu      sync.Mutex
	got     []Message
	arrived chan struct{}
}

// Subscribe connects a recorder of its own. It ends with Close of the recorder or of the broker. A broker that is down, or a
// refused filter, is a fault of the test: Subscribe panics with the reason.
func (b *Broker) Subscribe(filter string) *Recorder {
	r := &Recorder{arrived: make(chan struct{}, 1)}
	b.mu.Lock()
	id := fmt.Sprintf("recorder-%d", len(b.recorders)+1)
	b.recorders = append(b.recorders, r)
	b.mu.Unlock()
	r.client = mqtt.NewClient(recorderOptions(b, id))
	must("connect", r.client.Connect())
	sub := r.client.Subscribe(filter, 1, r.take)
	must("subscribe", sub)
	if code := sub.(*mqtt.SubscribeToken).Result()[filter]; code > 2 {
		panic(fmt.Sprintf("cannot subscribe the recorder to %s: code %#x", filter, code))
	}
	// The broker looks for retained messages after its SUBACK: what is published and retained in between would be heard twice.
	// It takes a client's packets one after the other, so the answer to another one says that it has looked.
	must("settle", r.client.Unsubscribe("nothing"))
	return r
}

func recorderOptions(b *Broker, id string) *mqtt.ClientOptions {
	o := mqtt.NewClientOptions()
	o.AddBroker("tcp://memory")
	o.SetClientID(id)
	o.SetAutoReconnect(false)
	o.SetProtocolVersion(4)
	o.SetKeepAlive(0) // a witness that sends nothing of its own
	o.SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) { return b.dial(context.Background(), true) })
	return o
}

func must(what string, t mqtt.Token) {
	if !t.WaitTimeout(timeout) {
		panic("cannot " + what + " the recorder: no answer")
	}
	if err := t.Error(); err != nil {
		panic("cannot " + what + " the recorder: " + err.Error())
	}
}

func (r *Recorder) take(_ mqtt.Client, m mqtt.Message) {
	r.mu.Lock()
	r.got = append(r.got, Message{Topic: m.Topic(), Payload: m.Payload(), Retained: m.Retained(), Dup: m.Duplicate(), At: time.Now()})
	r.mu.Unlock()
	select {
	case r.arrived <- struct{}{}:
	default:
	}
}

// Messages returns what came so far, in order of arrival.
func (r *Recorder) Messages() []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Message(nil), r.got...)
}

// Len is how many messages came so far.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

// Wait returns when at least n messages came, or false when limit has passed.
func (r *Recorder) Wait(n int, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for r.Len() < n {
		select {
		case <-r.arrived:
		case <-timer.C:
			return r.Len() >= n
		}
	}
	return true
}

// Close disconnects the recorder; what it recorded stays readable.
func (r *Recorder) Close() {
	r.once.Do(func() {
		if r.client != nil {
			r.client.Disconnect(250)
		}
	})
}
