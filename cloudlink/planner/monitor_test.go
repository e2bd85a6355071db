package planner

import (
	"net/http"
	"testing"
	"time"

	"deviceagent/bridge/wire"
)

func (d *robotRig) telemetry(lease string, n int64) {
	d.r.t.Helper()
	env := d.envelope(wire.TypeTelemetry)
	env.Telemetry = &wire.Telemetry{LeaseID: lease, N: n, Mode: "automatic"}
	d.publish(env)
}

func TestMonitorLeaseIsAskedForAndShown(t *testing.T) {
	r := newRig(t)
	r.start()
	if status, _ := r.call("POST", "/v1/devices/rb-1/monitor", "{}"); status != http.StatusNotFound {
		t.Errorf("a lease of an unknown device is answered %d", status)
	}
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	r.must(http.StatusNotFound, "GET", "/v1/devices/rb-1/monitor", "")
	asked := r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/monitor", `{"ttl_s":120,"min_interval_ms":2000}`)
	want(t, asked, "state", "asked")
	m := d.next(wire.TypeMonitor)
	if m.Monitor.TTLS != 120 || m.Monitor.MinIntervalMS != 2000 || m.Seq == 0 || m.StoreEpoch != "e1" || m.Monitor.LeaseID != asked["lease_id"] {
		t.Fatalf("sent %+v %+v", m, m.Monitor)
	}
	d.publish(d.ack(m, "")) // no receipt is waited for: an ack of a lease has none
	d.telemetry(m.Monitor.LeaseID, 1)
	d.telemetry("ls_of_nobody", 7)
	d.telemetry(m.Monitor.LeaseID, 2)
	if _, refs := d.sync("1.1"); len(refs) != 0 {
		t.Errorf("%q were receipted: nothing of a lease is", refs)
	}
	v := r.must(http.StatusOK, "GET", "/v1/devices/rb-1/monitor", "")
	want(t, v, "state", "live")
	want(t, v, "received", 2)
	want(t, v, "telemetry.n", 2)
	want(t, r.get("/v1/devices/rb-1"), "monitor.received", 2)
	want(t, r.get("/v1/devices/rb-1"), "unanswered", 0)

	next := r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/monitor", `{"ttl_s":0}`)
	want(t, next, "state", "ended")
	if again := d.next(wire.TypeMonitor); again.Seq <= m.Seq || again.Monitor.TTLS != 0 {
		t.Errorf("the end of a lease is %+v after seq %d", again, m.Seq)
	}
	r.clock.advance(time.Hour)
	r.tick()
	r.must(http.StatusNotFound, "GET", "/v1/devices/rb-1/monitor", "")
}

func TestMonitorLeaseThatCannotBe(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	want(t, r.must(http.StatusUnprocessableEntity, "POST", "/v1/devices/rb-1/monitor", `{"ttl_s":901}`), "code", "bad_monitor")
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/monitor", `{}`)
	d.publish(d.ack(d.next(wire.TypeMonitor), "wrong_epoch"))
	d.sync("1.1")
	v := r.must(http.StatusOK, "GET", "/v1/devices/rb-1/monitor", "")
	want(t, v, "state", "refused")
	want(t, v, "reason_code", "wrong_epoch")
	d.status(false, "1.1", "")
	d.hello("1.0") // stale: it only waits until the status before it is in
	want(t, r.must(http.StatusConflict, "POST", "/v1/devices/rb-1/monitor", `{}`), "code", "device_offline")
}
