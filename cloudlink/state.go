package cloudlink

import "time"

// Phase says how far the session has come.
type Phase string

// The phases.
const (
	Offline    Phase = "offline"    // no connection; waiting for the next dial
	Connecting Phase = "connecting" // dialling, or connected and not yet answered by the planner
	Online     Phase = "online"     // the planner answered this connection's hello
)

// Reason says why the link is not online. It is shown and logged, never sent.
type Reason string

// The reasons.
const (
	ReasonStarting      Reason = "starting"
	ReasonDial          Reason = "dial_failed"
	ReasonDNS           Reason = "name_not_found"
	ReasonCertificate   Reason = "certificate_refused"     // the broker's, by us
	ReasonOwn           Reason = "own_certificate_refused" // ours, by the broker
	ReasonClock         Reason = "clock_untrusted"         // the broker's certificate is not valid yet by this robot's clock
	ReasonHandshake     Reason = "no_mqtt_handshake"       // no CONNACK: not a broker, a captive portal, or hung
	ReasonNotAuthorised Reason = "not_authorised"
	ReasonRefused       Reason = "refused_by_broker" // any other CONNACK code
	ReasonCredentials   Reason = "credentials_unreadable"
	ReasonSubscribe     Reason = "subscribe_refused"
	ReasonHello         Reason = "hello_unanswered" // connected; the planner has not answered yet
	ReasonClosed        Reason = "closed_by_broker"
	ReasonTwin          Reason = "twin_suspected" // closed soon after each connect: another client seems to use this id
	ReasonNoPong        Reason = "no_answer_to_ping"
	ReasonNoPuback      Reason = "no_answer_to_publish"
	ReasonWrite         Reason = "write_failed"
	ReasonOversize      Reason = "packet_too_large"
	ReasonProtocol      Reason = "bad_packet"
	ReasonReceive       Reason = "receive_failed" // our own side could not make an answer durable
	ReasonOverrun       Reason = "receive_queue_full"
	ReasonEncode        Reason = "encode_failed"
	ReasonStopped       Reason = "stopped"
)

// State is a snapshot for people and for health checks.
type State struct {
	Phase       Phase
	Since       time.Time // of the phase
	Reason      Reason    // why not online; empty when online
	Detail      string    // the cause in words, may be empty
	ConnNo      string    // of the newest connection
	Open        bool      // the MQTT connection is up, whatever the planner says
	LastReceipt time.Time // zero: none yet
	LastDown    time.Time // arrival of the newest message from the cloud
	LastUp      time.Time // hand-over (PUBACK) of the newest message to the broker
	Reconnects  int64     // connections after the first
	NextTry     time.Time // of the next dial while offline
	InFlight    int       // publishes without a PUBACK
	SetAside    int64     // messages on which the broker closed again and again, in this run
	Dropped     int64     // messages that were not taken: retained, unreadable receipts, of another device or store
}

func (s *State) phase(p Phase) {
	if s.Phase != p {
		s.Phase, s.Since = p, time.Now()
	}
}

func (s *State) offline(r Reason, detail string) {
	s.phase(Offline)
	s.Reason, s.Detail = r, detail
	s.Open, s.InFlight, s.NextTry = false, 0, time.Time{}
}

// State returns the present state. It may be called from any goroutine.
func (l *Link) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

func (l *Link) receiptID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastReceipt
}

// Changed becomes readable after the phase or the reason changed; several changes may come as one.
func (l *Link) Changed() <-chan struct{} { return l.changed }

func (l *Link) set(change func(*State)) {
	l.mu.Lock()
	before := l.state
	change(&l.state)
	moved := before.Phase != l.state.Phase || before.Reason != l.state.Reason
	l.mu.Unlock()
	if !moved {
		return
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// ending says how a connection ended.
type ending struct {
	reason Reason
	err    error
	lasted time.Duration // since CONNACK; 0: there was none
	online bool          // the planner had answered
}

func (e ending) detail() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
