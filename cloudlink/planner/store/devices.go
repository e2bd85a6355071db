package store

import "fmt"

// Device is what the planner knows of a robot. Epoch is empty until its first hello.
type Device struct {
	ID        string
	Epoch     string // store epoch of the last hello
	ConnStart int64  // start counter of the last judged connection
	ConnNo    int64  // connection counter within that start
	Online    bool
	HelloAt   int64  // ms; 0: never
	SeenAt    int64  // ms; last status that counted
	Status    []byte // JSON of the last status body that counted
}

const deviceColumns = `device_id, epoch, conn_start, conn_no, online, hello_at, seen_at, status`

func scanDevice(r scanner) (d Device, err error) {
	err = r.Scan(&d.ID, &d.Epoch, &d.ConnStart, &d.ConnNo, &d.Online, &d.HelloAt, &d.SeenAt, &d.Status)
	return d, err
}

// Device reads one device. ErrNotFound: it has neither spoken nor been spoken to.
func (t *Tx) Device(id string) (Device, error) {
	return one(t, scanDevice, `SELECT `+deviceColumns+` FROM devices WHERE device_id = ?`, id)
}

// Devices lists devices by id, after one id, at most limit.
func (t *Tx) Devices(after string, limit int) ([]Device, error) {
	out, err := many(t, scanDevice, `SELECT `+deviceColumns+` FROM devices WHERE device_id > ? ORDER BY device_id LIMIT ?`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list devices: %w", err)
	}
	return out, nil
}

// PutDevice writes all of a device but its sequence counter.
func (t *Tx) PutDevice(d Device) error {
	_, err := t.exec(`INSERT INTO devices (`+deviceColumns+`) VALUES (?,?,?,?,?,?,?,?)
		ON CONFLICT (device_id) DO UPDATE SET epoch=excluded.epoch, conn_start=excluded.conn_start, conn_no=excluded.conn_no,
		online=excluded.online, hello_at=excluded.hello_at, seen_at=excluded.seen_at, status=excluded.status`,
		d.ID, d.Epoch, d.ConnStart, d.ConnNo, d.Online, d.HelloAt, d.SeenAt, d.Status)
	if err != nil {
		return fmt.Errorf("cannot store device %s: %w", d.ID, err)
	}
	return nil
}

// NextSeq takes the next sequence number of what goes down to a device: at least now (Unix ms), and above all that were given. So it goes
// on above what a device has seen also where the store was restored from an old backup: a lower one would be refused as superseded.
func (t *Tx) NextSeq(deviceID string, now int64) (int64, error) {
	seq, err := one(t, scanInt, `INSERT INTO devices (device_id, next_seq) VALUES (?1, max(1, ?2) + 1)
		ON CONFLICT (device_id) DO UPDATE SET next_seq = max(next_seq, ?2) + 1 RETURNING next_seq - 1`, deviceID, now)
	if err != nil {
		return 0, fmt.Errorf("cannot take sequence number of device %s: %w", deviceID, err)
	}
	return seq, nil
}

// SeenEpoch says whether a device has ever said hello with this epoch.
func (t *Tx) SeenEpoch(deviceID, epoch string) (bool, error) {
	n, err := one(t, scanInt, `SELECT count(*) FROM epochs WHERE device_id = ? AND epoch = ?`, deviceID, epoch)
	return n > 0, err
}

// AddEpoch keeps an epoch of a device.
func (t *Tx) AddEpoch(deviceID, epoch string, at int64) error {
	_, err := t.exec(`INSERT INTO epochs (device_id, epoch, first_at) VALUES (?,?,?) ON CONFLICT DO NOTHING`, deviceID, epoch, at)
	if err != nil {
		return fmt.Errorf("cannot store epoch of device %s: %w", deviceID, err)
	}
	return nil
}
