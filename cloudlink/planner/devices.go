package planner

import (
	"encoding/json"
	"errors"
	"net/http"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// deviceView is a device as HTTP shows it.
type deviceView struct {
	DeviceID    string          `json:"device_id"`
	Link        string          `json:"link"` // online, link_lost, unknown (has never said hello)
	StoreEpoch  string          `json:"store_epoch,omitempty"`
	ConnNo      string          `json:"conn_no,omitempty"`
	HelloAt     string          `json:"hello_at,omitempty"`
	CatalogEtag string          `json:"catalog_etag,omitempty"`
	RoomsEtag   string          `json:"rooms_etag,omitempty"`
	Rooms       []wire.Room     `json:"rooms"`
	Status      json.RawMessage `json:"status,omitempty"` // its last hello
	Unanswered  int64           `json:"unanswered"`
	Workflows   []workflowLine  `json:"workflows,omitempty"`
	Questions   []questionView  `json:"questions,omitempty"` // what its users are asked now
	Unreadable  []unreadable    `json:"unreadable,omitempty"`
	Unkept      int64           `json:"unreadable_counted,omitempty"` // more of them, of which nothing was kept
	Monitor     *leaseView      `json:"monitor,omitempty"`            // a lease that was asked for lately
}

type workflowLine struct {
	WorkflowID string `json:"workflow_id"`
	CreatedAt  string `json:"created_at"`
	Status     string `json:"status,omitempty"` // of its result; empty: the device has not closed it
}

// unreadable is a message that was kept as bytes only.
type unreadable struct {
	MessageID  string `json:"message_id"`
	Type       string `json:"type"`
	ReceivedAt string `json:"received_at"`
	SizeBytes  int64  `json:"size_bytes"`
	Fault      string `json:"fault"`
}

const (
	devicesPage     = 500
	deviceWorkflows = 50
	unreadableShown = 20
)

// presence is the overlay over all that a device does: it changes no state.
func presence(d store.Device) string {
	switch {
	case d.HelloAt == 0:
		return "unknown"
	case d.Online:
		return "online"
	}
	return "link_lost"
}

func linkOf(tx *store.Tx, device string) string {
	d, err := tx.Device(device)
	if err != nil {
		return "unknown"
	}
	return presence(d)
}

// tierOf is the highest that a plan with a goal may have on a device now, as it has said; empty: it has not.
func tierOf(tx *store.Tx, device string) string {
	d, err := tx.Device(device)
	if err != nil {
		return ""
	}
	return statusOf(d).Tier
}

// statusOf reads the status that was kept. It was written by us: what cannot be read is empty.
func statusOf(d store.Device) (st wire.Status) {
	if len(d.Status) > 0 {
		_ = json.Unmarshal(d.Status, &st)
	}
	return st
}

func viewDevice(tx *store.Tx, d store.Device) (deviceView, error) {
	st := statusOf(d)
	n, err := tx.CountOpenDown(d.ID)
	return deviceView{DeviceID: d.ID, Link: presence(d), StoreEpoch: d.Epoch, ConnNo: st.ConnNo, HelloAt: stampMS(d.HelloAt),
		CatalogEtag: st.CatalogEtag, RoomsEtag: st.RoomsEtag, Rooms: nonNil(st.Rooms), Unanswered: n}, err
}

func (s *Server) getDevices(req *http.Request) (int, any, error) {
	out := struct {
		Devices []deviceView `json:"devices"`
		Next    string       `json:"next,omitempty"` // ask again with ?after= this
	}{Devices: []deviceView{}}
	err := s.opt.Store.View(req.Context(), func(tx *store.Tx) error {
		rows, err := tx.Devices(req.URL.Query().Get("after"), devicesPage)
		if err != nil {
			return err
		}
		for _, d := range rows {
			v, err := viewDevice(tx, d)
			if err != nil {
				return err
			}
			out.Devices = append(out.Devices, v)
		}
		return nil
	})
	if len(out.Devices) == devicesPage {
		out.Next = out.Devices[devicesPage-1].DeviceID
	}
	return http.StatusOK, out, err
}

func (s *Server) getDevice(req *http.Request) (int, any, error) {
	id, err := pathID(req)
	if err != nil {
		return 0, nil, err
	}
	var v deviceView
	err = s.opt.Store.View(req.Context(), func(tx *store.Tx) error {
		d, err := tx.Device(id)
		if err != nil {
			return err
		}
		if v, err = viewDevice(tx, d); err != nil {
			return err
		}
		v.Status = d.Status
		if err := v.addHistory(tx); err != nil {
			return err
		}
		return v.addQuestions(s, tx)
	})
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil, notFound("device", id)
	}
	if lease, ok := s.monitors.view(id); ok {
		v.Monitor = &lease
	}
	return http.StatusOK, v, err
}

func (v *deviceView) addHistory(tx *store.Tx) error {
	wfs, err := tx.WorkflowsOf(v.DeviceID, deviceWorkflows)
	if err != nil {
		return err
	}
	for _, w := range wfs {
		v.Workflows = append(v.Workflows, workflowLine{WorkflowID: w.ID, CreatedAt: stampMS(w.CreatedAt), Status: w.Status})
	}
	bad, err := tx.Unreadable(v.DeviceID, unreadableShown)
	for _, m := range bad {
		v.Unreadable = append(v.Unreadable, unreadable{MessageID: m.ID, Type: m.Type, ReceivedAt: stampMS(m.ReceivedAt), SizeBytes: m.Size,
			Fault: m.Fault})
	}
	if err != nil {
		return err
	}
	v.Unkept, err = tx.Unkept(v.DeviceID)
	return err
}
