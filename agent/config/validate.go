package config

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// problem is a fault without its place.
type problem struct{ key, message string }

var (
	deviceIDForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)
	bootIDForm   = regexp.MustCompile(`^([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$`)
)

// socketPathMax is what the kernel takes as the path of a unix socket. Bytes.
const socketPathMax = 107

// rules judge single values by key.
var rules = map[string]func(c *Config) string{
	"device_id": func(c *Config) string {
		if c.DeviceID == "" {
			return "must be set: it is the robot's name towards the cloud"
		}
		return unless(deviceIDForm.MatchString(c.DeviceID), "must be 1 to 128 of A-Z a-z 0-9 . _ : -")
	},
	"state_dir":              func(c *Config) string { return absolute(c.StateDir) },
	"run_dir":                func(c *Config) string { return absolute(c.RunDir) },
	"catalog_dir":            func(c *Config) string { return optional(c.CatalogDir) },
	"broker.url":             func(c *Config) string { return brokerURL(c.Broker.URL) },
	"broker.encoding":        func(c *Config) string { return oneOf(c.Broker.Encoding, "cbor", "json") },
	"broker.username_file":   func(c *Config) string { return secretFile(c.Broker.UsernameFile) },
	"broker.password_file":   func(c *Config) string { return secretFile(c.Broker.PasswordFile) },
	"broker.ca_file":         func(c *Config) string { return secretFile(c.Broker.CAFile) },
	"broker.cert_file":       func(c *Config) string { return secretFile(c.Broker.CertFile) },
	"broker.key_file":        func(c *Config) string { return secretFile(c.Broker.KeyFile) },
	"broker.keepalive":       func(c *Config) string { return keepalive(time.Duration(c.Broker.Keepalive)) },
	"diag.read_socket":       func(c *Config) string { return socket(c.Diag.ReadSocket) },
	"diag.control_socket":    func(c *Config) string { return socket(c.Diag.ControlSocket) },
	"executor.socket":        func(c *Config) string { return socket(c.Executor.Socket) },
	"executor.bus":           func(c *Config) string { return bus(c.Executor.Bus) },
	"firmware.bus":           func(c *Config) string { return firmwareBus(c.Firmware.Bus) },
	"firmware.read_group":    func(c *Config) string { return group(c.Firmware.ReadGroup) },
	"firmware.control_group": func(c *Config) string { return group(c.Firmware.ControlGroup) },
	"firmware.sources":       func(c *Config) string { return sources(c.Firmware.Sources) },
	"privacy.utterances": func(c *Config) string {
		return unless(0 <= c.Privacy.Utterances && time.Duration(c.Privacy.Utterances) <= 720*time.Hour, "must be 0s to 720h")
	},
	"log.level": func(c *Config) string { return oneOf(c.Log.Level, "debug", "info", "warn", "error") },
	"limits.steps": func(c *Config) string {
		return unless(1 <= c.Limits.Steps && c.Limits.Steps <= 1024, "must be 1 to 1024")
	},
	"limits.plan_bytes": func(c *Config) string { return within(c.Limits.PlanBytes, 4*KiB, 256*KiB) },
	"limits.outbox_rows": func(c *Config) string {
		return unless(256 <= c.Limits.OutboxRows && c.Limits.OutboxRows <= 1_000_000, "must be 256 to 1000000")
	},
	"limits.outbox_bytes": func(c *Config) string { return within(c.Limits.OutboxBytes, 1*MiB, 1*GiB) },
	"limits.store_quota":  func(c *Config) string { return within(c.Limits.StoreQuota, 8*MiB, 16*GiB) },
	"time.boot_id": func(c *Config) string {
		return unless(c.Time.BootID == "" || bootIDForm.MatchString(c.Time.BootID), "must be 32 hex digits, dashes allowed")
	},
	"experience.tier":    func(c *Config) string { return oneOf(c.Goal.Tier, "shadow", "content_only", "restricted", "full") },
	"experience.enabled": nil,
	"trusted_keys_file":  func(c *Config) string { return optional(c.TrustedKeysFile) },
	"require_signed":     nil,
	"allow_json":         nil,
	"allow_inject":       nil,
	"hold":               nil,
	"time.assume_synced": nil,
}

// together judge values that depend on each other; the fault is told at the key that is easiest to change.
var together = []struct {
	key   string
	judge func(c *Config) string
}{
	{"broker.encoding", func(c *Config) string {
		return unless(c.Broker.Encoding != "json" || c.AllowJSON, "json needs allow_json = true")
	}},
	{"require_signed", func(c *Config) string {
		return unless(!c.RequireSigned || c.TrustedKeysFile != "", "needs trusted_keys_file: nothing could be believed without a key")
	}},
	{"broker.key_file", func(c *Config) string {
		return unless((c.Broker.CertFile == "") == (c.Broker.KeyFile == ""), "cert_file and key_file must be set together")
	}},
	{"broker.cert_file", func(c *Config) string {
		return unless(c.Broker.CertFile == "" || secure(c.Broker.URL), "needs a broker.url of ssl://, tls:// or mqtts://")
	}},
	{"broker.username_file", func(c *Config) string {
		return unless(c.Broker.UsernameFile == "" || c.Broker.PasswordFile != "", "needs password_file")
	}},
	{"diag.control_socket", func(c *Config) string {
		return unless(c.Diag.ControlSocket != c.Diag.ReadSocket, "must differ from read_socket: the file's mode is the role")
	}},
	{"executor.socket", func(c *Config) string {
		return unless(c.Executor.Socket != c.Diag.ReadSocket && c.Executor.Socket != c.Diag.ControlSocket, "must differ from the diagnostic sockets")
	}},
}

// Validate reports everything that is wrong with the values, as [Faults] without places, or nil.
func (c *Config) Validate() error {
	var out Faults
	for _, p := range c.problems() {
		k, _ := find(p.key)
		out = append(out, Fault{Key: p.key, Value: k.literal(c), Place: "settings", Message: p.message})
	}
	if out == nil {
		return nil
	}
	return out
}

func (c *Config) problems() (out []problem) {
	for _, k := range keys {
		if judge := rules[k.Name]; judge != nil {
			if m := judge(c); m != "" {
				out = append(out, problem{k.Name, m})
			}
		}
	}
	for _, t := range together {
		if m := t.judge(c); m != "" {
			out = append(out, problem{t.key, m})
		}
	}
	return out
}

func unless(ok bool, message string) string {
	if ok {
		return ""
	}
	return message
}

func absolute(path string) string {
	return unless(filepath.IsAbs(path) && !strings.ContainsRune(path, 0), "must be an absolute path")
}

func optional(path string) string {
	if path == "" {
		return ""
	}
	return absolute(path)
}

func secretFile(path string) string {
	if name, ok := strings.CutPrefix(path, credentialPrefix); ok {
		return unless(credentialForm.MatchString(name), "must name the credential as LoadCredential= does: letters, digits, dots, _ and -")
	}
	return optional(path)
}

func socket(path string) string {
	if m := absolute(path); m != "" {
		return m
	}
	return unless(len(path) <= socketPathMax, "must have at most 107 bytes: the kernel takes no longer path for a socket")
}

func oneOf(text string, words ...string) string {
	return unless(slices.Contains(words, text), "must be one of "+strings.Join(words, ", "))
}

func within(s, least, most Size) string {
	return unless(least <= s && s <= most, "must be "+least.String()+" to "+most.String())
}

func keepalive(d time.Duration) string {
	return unless(5*time.Second <= d && d <= 20*time.Minute && d%time.Second == 0, "must be 5s to 20m, whole seconds")
}

var schemes = []string{"tcp", "mqtt", "ssl", "tls", "mqtts"}

// bus is judged by its form only: whether a bus is there is known when it is connected to.
func bus(address string) string {
	if address == "" {
		return ""
	}
	transport, rest, ok := strings.Cut(address, ":")
	return unless(ok && transport != "" && strings.Contains(rest, "="), "must be a D-Bus address such as unix:path=/run/dbus/system_bus_socket, or empty for the system bus")
}

// firmwareBus is a bus, or the word for none.
func firmwareBus(address string) string {
	if address == "off" {
		return ""
	}
	return bus(address)
}

// groupForm is what useradd takes as a name, or a number.
var groupForm = regexp.MustCompile(`^([a-z_][a-z0-9_-]{0,31}|[0-9]{1,9})?$`)

func group(name string) string {
	return unless(groupForm.MatchString(name), "must be the name or number of a group, or empty")
}

// sourceForm is one source: a bus name, and events or beginnings of events.
var sourceForm = regexp.MustCompile(`^[A-Za-z_-][A-Za-z0-9_-]*(\.[A-Za-z_-][A-Za-z0-9_-]*)+=[a-z_]+(\.[a-z_]+)*(\.\*)?(,[a-z_]+(\.[a-z_]+)*(\.\*)?)*$`)

func sources(text string) string {
	for _, word := range strings.Fields(text) {
		if !sourceForm.MatchString(word) {
			return "must be bus names with their events, such as com.example.Buttons=pui.*,user.answered; with spaces between them"
		}
	}
	return ""
}

func brokerURL(text string) string {
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" {
		return "must be tcp://, mqtt://, ssl://, tls:// or mqtts://, a host, and perhaps a port"
	}
	if u.User != nil {
		return "must not hold a user or password: name the files that do"
	}
	return unless(u.RawQuery == "" && u.Fragment == "" && (u.Path == "" || u.Path == "/"), "must end after host and port")
}

func secure(text string) bool {
	u, err := url.Parse(text)
	return err == nil && slices.Contains(schemes[2:], u.Scheme)
}
