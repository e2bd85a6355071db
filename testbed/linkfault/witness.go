package linkfault

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
)

// witness is a subscriber beside all, with no proxy before it: it counts each message that the broker passed on, once. What passes while
// the broker is killed, and while it comes back itself, it does not see: the number is a lower bound.
type witness struct {
	client mqtt.Client
	seen   atomic.Int64

	mu    sync.Mutex
	types map[string]int // as in up/ack
}

// witnessMay is what the access list of a campaign has beside the shipped one.
const witnessMay = "\nuser witness\ntopic read deviceagent/v1/#\n"

func newWitness(addr string) *witness {
	w := &witness{types: map[string]int{}}
	o := beside(addr, "witness")
	o.SetOnConnectHandler(func(c mqtt.Client) {
		c.Subscribe("deviceagent/v1/#", 0, func(_ mqtt.Client, m mqtt.Message) {
			if !m.Retained() { // what the broker kept was counted when it came
				w.note(m.Topic())
			}
		})
	})
	w.client = mqtt.NewClient(o)
	w.client.Connect()
	return w
}

func (w *witness) note(topic string) {
	w.seen.Add(1)
	parts := strings.SplitN(topic, "/", 4) // deviceagent/v1/ID/up/ack
	w.mu.Lock()
	defer w.mu.Unlock()
	w.types[parts[len(parts)-1]]++
}

// beside is a client that looks on, and always comes back.
func beside(addr, name string) *mqtt.ClientOptions {
	return mqtt.NewClientOptions().AddBroker("tcp://" + addr).SetClientID("campaign-" + name).SetUsername(name).SetProtocolVersion(4).
		SetConnectRetry(true).SetConnectRetryInterval(20 * time.Millisecond).SetAutoReconnect(true).SetMaxReconnectInterval(20 * time.Millisecond).SetWriteTimeout(5 * time.Second)
}

func (w *witness) close() { w.client.Disconnect(0) }
