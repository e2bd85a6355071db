package agent

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/agent/clock"
	"deviceagent/agent/config"
	"deviceagent/bridge/catalogfile"
	defaults "deviceagent/packaging/catalog"
)

const packaging = "../packaging/"

// unit is a unit file: values by "Section.Key", in order.
type unit map[string][]string

func readUnit(t *testing.T, name string) unit {
	t.Helper()
	text, err := os.ReadFile(packaging + "systemd/" + name)
	if err != nil {
		t.Fatal(err)
	}
	u, section := unit{}, ""
	for _, line := range strings.Split(string(text), "\n") {
		key, value, isKey := strings.Cut(line, "=")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		case isKey:
			u[section+"."+key] = append(u[section+"."+key], value)
		default:
			t.Fatalf("%s: cannot read %q", name, line)
		}
	}
	return u
}

func (u unit) one(t *testing.T, key string) string {
	t.Helper()
	if len(u[key]) != 1 {
		t.Fatalf("%s is there %d times, want once", key, len(u[key]))
	}
	return u[key][0]
}

func (u unit) seconds(t *testing.T, key string) time.Duration {
	t.Helper()
	n, err := strconv.Atoi(u.one(t, key))
	if err != nil {
		t.Fatalf("%s: want whole seconds: %v", key, err)
	}
	return time.Duration(n) * time.Second
}

// What the unit promises and what the code does are two files: these are the places where they have to agree.
func TestTheServiceUnitKeepsWhatTheCodeNeeds(t *testing.T) {
	u, cfg := readUnit(t, "deviceagent.service"), config.Default()
	for key, want := range map[string]string{
		"Service.Type": "notify", "Service.NotifyAccess": "main", "Service.ExecStart": "/usr/bin/deviceagentd", "Service.User": "deviceagent",
		"Service.Restart": "always", "Service.RestartSec": "2", "Unit.StartLimitIntervalSec": "0", "Service.RestartPreventExitStatus": "2",
		"Service.StateDirectoryMode": "0700", "Service.UMask": "0077", "Service.OOMScoreAdjust": "-100", "Service.KillMode": "control-group",
		"Service.CapabilityBoundingSet": "", "Service.ProtectSystem": "strict", "Service.RestrictAddressFamilies": "AF_UNIX AF_INET AF_INET6",
	} {
		if got := u.one(t, key); got != want {
			t.Errorf("%s=%s, want %s", key, got, want)
		}
	}
	if _, there := u["Service.PrivateUsers"]; there {
		t.Error("with PrivateUsers= every peer has the user id 65534, and no permission of the executor socket holds")
	}
	if _, there := u["Service.RuntimeDirectory"]; there {
		t.Error("with RuntimeDirectory= the sockets would go with each stop of the service")
	}
	if got := "/var/lib/" + u.one(t, "Service.StateDirectory"); got != cfg.StateDir {
		t.Errorf("the state is in %s, the settings say %s", got, cfg.StateDir)
	}
	boot := slices.IndexFunc(config.Keys(), func(k config.Key) bool { return k.Name == "time.boot_id" })
	if want := config.Keys()[boot].Env + "=%b"; !slices.Contains(u["Service.Environment"], want) {
		t.Errorf("Environment= lacks %s: with ProcSubset=pid the kernel's own cannot be read", want)
	}
}

// F65: from the last sign of life of an agent that hangs to its next start no more than WatchdogSec and 15 s pass.
func TestF65_TheServiceUnitBringsAHungAgentBackInTime(t *testing.T) {
	u := readUnit(t, "deviceagent.service")
	watchdog := u.seconds(t, "Service.WatchdogSec")
	if watchdog < time.Minute || watchdog < 2*maxProbeAge {
		t.Errorf("WatchdogSec=%v is too short for a disk that may stand still for %v", watchdog, maxProbeAge)
	}
	if after := u.seconds(t, "Service.TimeoutAbortSec") + u.seconds(t, "Service.RestartSec"); after > 15*time.Second {
		t.Errorf("back %v after the watchdog, want 15s", after)
	}
	if start := u.seconds(t, "Service.TimeoutStartSec"); start < 2*extendBy || extendBy < 2*extendEvery {
		t.Errorf("TimeoutStartSec=%v: one lost request for %v more every %v would end the start", start, extendBy, extendEvery)
	}
}

// F67: a stop is done before systemd loses its patience, even where every part takes all of its time.
func TestF67_TheServiceUnitWaitsForEveryPart(t *testing.T) {
	dir, err := os.MkdirTemp("", "da")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cat, _, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	clk, err := clock.New(clock.Options{AssumeSynced: true})
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.DeviceID, cfg.StateDir, cfg.Broker.URL = "rb-1", dir, "tcp://127.0.0.1:1"
	cfg.Executor.Socket, cfg.Diag.ReadSocket, cfg.Diag.ControlSocket = filepath.Join(dir, "x"), filepath.Join(dir, "r"), filepath.Join(dir, "c")
	a, err := New(t.Context(), Options{Config: cfg, Catalog: cat, Clock: clk, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.begun()
	defer a.store.Close()
	parts, err := a.parts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	need := time.Duration(len(parts))*stopTime + 5*time.Second // and the store, and the last lines of the log
	if got := readUnit(t, "deviceagent.service").seconds(t, "Service.TimeoutStopSec"); got < need {
		t.Errorf("TimeoutStopSec=%v, and %d parts may take %v", got, len(parts), need)
	}
}

// F75: the runtime holds back before the kernel kills.
func TestF75_TheServiceUnitBoundsMemoryTwice(t *testing.T) {
	u := readUnit(t, "deviceagent.service")
	var soft, most config.Size
	if err := most.UnmarshalText([]byte(u.one(t, "Service.MemoryMax") + "iB")); err != nil {
		t.Fatal(err)
	}
	for _, v := range u["Service.Environment"] {
		if text, ok := strings.CutPrefix(v, "GOMEMLIMIT="); ok {
			if err := soft.UnmarshalText([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if soft < most/2 || soft > most*9/10 {
		t.Errorf("GOMEMLIMIT=%v, MemoryMax=%v: want half to nine tenths", soft, most)
	}
}

// F74: what the agent lets in at most fits into its file descriptors.
func TestF74_TheServiceUnitGivesEnoughFileDescriptors(t *testing.T) {
	got, err := strconv.Atoi(readUnit(t, "deviceagent.service").one(t, "Service.LimitNOFILE"))
	// 64 executors, a few dozen guests of the diagnostic sockets, three pipes for each of 16 tasks of ten programs, store, bus, link, timers
	if need := 64 + 64 + 3*160 + 64; err != nil || got < need {
		t.Errorf("LimitNOFILE=%d, %v; want at least %d", got, err, need)
	}
}

func TestTheSocketUnitsAreTheDoorsOfTheSettings(t *testing.T) {
	cfg := config.Default()
	users, err := os.ReadFile(packaging + "sysusers.d/deviceagent.conf")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadFile(packaging + "tmpfiles.d/deviceagent.conf")
	if err != nil {
		t.Fatal(err)
	}
	service := readUnit(t, "deviceagent.service")
	doors := map[string]string{"read": cfg.Diag.ReadSocket, "control": cfg.Diag.ControlSocket, "executor": cfg.Executor.Socket}
	for _, name := range slices.Sorted(maps.Keys(doors)) {
		file := "deviceagent-" + name + ".socket"
		u := readUnit(t, file)
		for key, want := range map[string]string{
			"Socket.ListenStream": doors[name], "Socket.FileDescriptorName": name, "Socket.Service": "deviceagent.service",
			"Socket.SocketGroup": "deviceagent-" + name, "Socket.SocketMode": "0660", "Unit.PartOf": "deviceagent.service",
		} {
			if got := u.one(t, key); got != want {
				t.Errorf("%s: %s=%s, want %s", file, key, got, want)
			}
		}
		if !strings.Contains(string(users), fmt.Sprintf("\ng %s -\n", u.one(t, "Socket.SocketGroup"))) {
			t.Errorf("%s: sysusers.d makes no group %s", file, u.one(t, "Socket.SocketGroup"))
		}
		if !strings.Contains(string(folders), fmt.Sprintf("\nd %s 0755 root root -\n", filepath.Dir(doors[name]))) {
			t.Errorf("%s: tmpfiles.d does not make its folder", file)
		}
		for _, key := range []string{"Unit.Requires", "Unit.After"} {
			if !slices.Contains(strings.Fields(service.one(t, key)), file) {
				t.Errorf("%s= of the service lacks %s", key, file)
			}
		}
	}
	if !strings.Contains(string(users), "\nu "+service.one(t, "Service.User")+" -") {
		t.Error("sysusers.d does not make the user of the service")
	}
}
