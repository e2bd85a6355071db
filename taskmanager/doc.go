// Package taskmanager carries plans out: one goroutine owns the state, drains what waits, lets the pure core decide, commits once
// and only then answers and acts. It promises that what it accepted survives a power cut and that nothing leaves the process
// before the state that explains it is on disk, but stops and reads. It decides nothing itself (package core does) and knows no
// disk, bus or link: it declares what it needs of them as interfaces. Contract: docs/taskmanager.md.
package taskmanager

import "errors"

// ErrNotCommitted says that a batch is surely not on disk; the store is sound and may be used again.
var ErrNotCommitted = errors.New("batch not committed")

// ErrStoreBroken says that the store can no longer be trusted by this process: a failed sync, an I/O error, a corrupt page.
var ErrStoreBroken = errors.New("store broken")

// ErrStoreClosed says that the store was closed under the task manager: nothing will ever be committed again, and the process is on its
// way out. The body is not stopped for that.
var ErrStoreClosed = errors.New("store closed")
