package broker

import (
	"testing"
	"testing/synctest"
)

// A recorder that is ready hears what is published and retained afterwards once, not also from the retained store.
func TestRecorderHearsARetainedMessageOnce(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			b := New()
			defer b.Close()
			witness := b.Subscribe("a/+")
			if err := b.Publish("a/b", []byte("1"), true); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := witness.Messages(); len(got) != 1 || got[0].Retained {
				t.Fatalf("the witness got %+v, want one live message", got)
			}
		})
	}
}
