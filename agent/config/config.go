package config

// Config is every setting. A field's tags say its key, what it is for, and what it may be; keys of a section are written
// section.key. Zero values mean nothing here: [Default] gives each field its value.
type Config struct {
	DeviceID        string `toml:"device_id" doc:"The robot's id: part of every topic and the MQTT client id. Must be set." allowed:"1 to 128 of A-Z a-z 0-9 . _ : -"`
	StateDir        string `toml:"state_dir" doc:"Where the store lives." allowed:"an absolute path"`
	RunDir          string `toml:"run_dir" doc:"Where what a reboot may remove lives: the sockets, unless they are set themselves." allowed:"an absolute path"`
	CatalogDir      string `toml:"catalog_dir" doc:"Catalog, rooms and tokens of this robot; empty: the catalog built into the program." allowed:"empty or an absolute path"`
	AllowJSON       bool   `toml:"allow_json" doc:"Read JSON from the cloud too. For labs." allowed:"true, false"`
	RequireSigned   bool   `toml:"require_signed" doc:"Refuse what the cloud sends without a good signature. Needs trusted_keys_file." allowed:"true, false"`
	TrustedKeysFile string `toml:"trusted_keys_file" doc:"One or two Ed25519 public keys (PEM) whose signatures are believed. Read again when it changes." allowed:"empty or an absolute path"`
	AllowInject     bool   `toml:"allow_inject" doc:"Let the field tool inject observations and events, marked synthetic. For benches." allowed:"true, false"`
	Hold            bool   `toml:"hold" doc:"Load and show everything, dispatch nothing." allowed:"true, false"`

	Broker   Broker   `toml:"broker"`
	Diag     Diag     `toml:"diag"`
	Executor Executor `toml:"executor"`
	Firmware Firmware `toml:"firmware"`
	Goal     Goal     `toml:"experience"`
	Privacy  Privacy  `toml:"privacy"`
	Log      Log      `toml:"log"`
	Limits   Limits   `toml:"limits"`
	Time     Time     `toml:"time"`
}

// Broker is the way to the cloud.
type Broker struct {
	URL          string   `toml:"url" doc:"The MQTT broker; empty: no cloud, local work only." allowed:"empty, or tcp:// mqtt:// ssl:// tls:// mqtts:// host[:port]"`
	Encoding     string   `toml:"encoding" doc:"How messages are written. json needs allow_json." allowed:"cbor, json"`
	Keepalive    Duration `toml:"keepalive" doc:"Silence after which the connection is tested; a dead one is noticed within this time plus 20s." allowed:"5s to 20m, whole seconds"`
	UsernameFile string   `toml:"username_file" doc:"File with the MQTT user name; empty: the device id if there is a password." allowed:"empty, an absolute path, or credential:NAME"`
	PasswordFile string   `toml:"password_file" doc:"File with the MQTT password." allowed:"empty, an absolute path, or credential:NAME"`
	CAFile       string   `toml:"ca_file" doc:"Certificates (PEM) that sign the broker's; empty: the system's." allowed:"empty, an absolute path, or credential:NAME"`
	CertFile     string   `toml:"cert_file" doc:"This device's certificate (PEM). Together with key_file." allowed:"empty, an absolute path, or credential:NAME"`
	KeyFile      string   `toml:"key_file" doc:"The key of cert_file (PEM)." allowed:"empty, an absolute path, or credential:NAME"`
}

// Diag is the diagnostic API.
type Diag struct {
	ReadSocket    string `toml:"read_socket" doc:"Unix socket of the API for reading. Under systemd the socket unit decides." allowed:"an absolute path of at most 107 bytes"`
	ControlSocket string `toml:"control_socket" doc:"Unix socket of the API for reading and operating." allowed:"an absolute path of at most 107 bytes"`
}

// Executor is the door for programs that act.
type Executor struct {
	Socket string `toml:"socket" doc:"Unix socket on which executors register." allowed:"an absolute path of at most 107 bytes"`
	Bus    string `toml:"bus" doc:"Address of the D-Bus on which services are; empty: the system bus. It is not connected to where the catalog binds nothing to it." allowed:"empty, or an address such as unix:path=/run/dbus/system_bus_socket"`
}

// Firmware is the agent as the robot's own programs see it on D-Bus.
type Firmware struct {
	Bus          string `toml:"bus" doc:"Address of the D-Bus on which org.deviceagent.Agent1 is, and logind for the lock on sleep; empty: the system bus; off: neither. No bus is no fault." allowed:"empty, off, or an address such as unix:path=/run/dbus/system_bus_socket"`
	ReadGroup    string `toml:"read_group" doc:"Whoever is in this group may look there. A group that does not exist has nobody in it." allowed:"empty, or the name or number of a group"`
	ControlGroup string `toml:"control_group" doc:"Whoever is in this group may look and operate there." allowed:"empty, or the name or number of a group"`
	Sources      string `toml:"sources" doc:"Programs that may report events there, beside the services that the catalog binds: bus names with their events." allowed:"empty, or NAME=EVENT,EVENT … such as com.example.Buttons=pui.*,user.answered"`
}

// Goal is what the device does with plans that have an experience.
type Goal struct {
	Enabled bool   `toml:"enabled" doc:"Evaluate experiences; false: their steps run as those of a plain plan, and the ack says experience_disabled." allowed:"true, false"`
	Tier    string `toml:"tier" doc:"What a plan with an experience may do at most: write its goal down, content only, nothing that moves the body, all." allowed:"shadow, content_only, restricted, full"`
}

// Privacy bounds what is kept of people.
type Privacy struct {
	Utterances Duration `toml:"utterances" doc:"How long the words that a plan comes from are kept after it has ended; 0s: no longer than an hour. Words of open work are kept." allowed:"0s to 720h"`
}

// Log is what is written to the journal.
type Log struct {
	Level string `toml:"level" doc:"The least severe message that is written." allowed:"debug, info, warn, error"`
}

// Limits bound what the device takes in.
type Limits struct {
	Steps       int64 `toml:"steps" doc:"Steps of one plan." allowed:"1 to 1024"`
	PlanBytes   Size  `toml:"plan_bytes" doc:"Size of one message from the cloud." allowed:"4KiB to 256KiB"`
	OutboxRows  int64 `toml:"outbox_rows" doc:"Messages that may wait for the cloud. At the bound the oldest answers are dropped and counted; full of reports, new plans are refused." allowed:"256 to 1000000"`
	OutboxBytes Size  `toml:"outbox_bytes" doc:"Size of all messages that wait for the cloud, in memory and on disk; at the bound as above." allowed:"1MiB to 1GiB"`
	StoreQuota  Size  `toml:"store_quota" doc:"Size of the store; beyond it new plans are refused, reports are kept." allowed:"8MiB to 16GiB"`
}

// Time is about clocks.
type Time struct {
	AssumeSynced bool   `toml:"assume_synced" doc:"Trust the wall clock without asking whether it is kept right. For labs." allowed:"true, false"`
	BootID       string `toml:"boot_id" env:"DEVICEAGENT_BOOT_ID" doc:"This boot's id, where /proc is hidden by the sandbox; empty: read from the kernel." allowed:"empty or 32 hex digits, dashes allowed"`
}

// Default returns the settings that are built in. They are complete but for device_id.
func Default() Config {
	return Config{
		StateDir: "/var/lib/deviceagent",
		RunDir:   "/run/deviceagent",
		Broker:   Broker{Encoding: "cbor", Keepalive: Duration(defaultKeepalive)},
		Diag:     Diag{ReadSocket: "/run/deviceagent/diag.sock", ControlSocket: "/run/deviceagent/control.sock"},
		Executor: Executor{Socket: "/run/deviceagent/executor.sock"},
		Firmware: Firmware{ReadGroup: "deviceagent-read", ControlGroup: "deviceagent-control"},
		Goal:     Goal{Enabled: true, Tier: "restricted"},
		Privacy:  Privacy{Utterances: Duration(defaultUtterances)},
		Log:      Log{Level: "info"},
		Limits:   Limits{Steps: 128, PlanBytes: 256 * KiB, OutboxRows: 20_000, OutboxBytes: 16 * MiB, StoreQuota: 64 * MiB},
	}
}
