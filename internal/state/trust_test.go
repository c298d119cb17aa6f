package state

import (
	"os"
	"testing"
	"time"
)

// The last confirmation of a server counts, besides the confirmations of its tools.
func TestLastConfirmationCounts(t *testing.T) {
	s := newStore(t)
	if all, err := s.Trusts().All(); all != nil || err != nil {
		t.Errorf("nothing was confirmed: got %v, %v", all, err)
	}
	at := time.Unix(1e9, 0).UTC()
	for _, trust := range []Trust{
		{Fingerprint: "1", Server: "a:x", File: "f", At: at},
		{Fingerprint: "2", Server: "a:x", File: "f", At: at},
		{Fingerprint: "2", Server: "a:x", File: "other", At: at},
		{Fingerprint: "3", Server: "a:x", File: "f", Tool: "t", At: at},
		{Fingerprint: "4", Server: "a:x", File: "f", Tool: "t", At: at},
		{Fingerprint: "4", Server: "a:x", File: "f", Tool: "t", At: at},
	} {
		if err := s.Trusts().Save(t.Context(), trust); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.Trusts().All()
	if err != nil || len(all) != 4 || all[0].Fingerprint != "2" || all[3].Fingerprint != "4" {
		t.Errorf("got %v, %v", all, err)
	}
	if n, err := s.Trusts().Drop(t.Context(), func(trust Trust) bool { return trust.Tool != "" }); n != 2 || err != nil {
		t.Errorf("dropped %d, %v", n, err)
	}
	if all, _ = s.Trusts().All(); len(all) != 2 {
		t.Errorf("%v is left", all)
	}
	// A file that cannot be parsed confirms nothing, and is not overwritten.
	if err := os.WriteFile(s.Private(trustedName).Path(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Trusts().All(); all != nil || !IsReason(err, Damaged) {
		t.Errorf("got %v, %v", all, err)
	}
	if err := s.Trusts().Save(t.Context(), Trust{Fingerprint: "5"}); !IsReason(err, Damaged) {
		t.Errorf("got %v", err)
	}
}
