package state

import (
	"context"
	"errors"
	"os"
	"testing"
)

func TestPrivateFile(t *testing.T) {
	s := newStore(t)
	p := s.Private("secrets.json")
	if raw, err := p.Read(); raw != nil || err != nil {
		t.Errorf("nothing is there: got %q, %v", raw, err)
	}
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Read made something: %v", err)
	}
	for _, text := range []string{"one", "two"} {
		if err := p.Update(t.Context(), func(old []byte) ([]byte, error) { return append(old, text...), nil }); err != nil {
			t.Fatal(err)
		}
	}
	failed := errors.New("no")
	if err := p.Update(t.Context(), func([]byte) ([]byte, error) { return nil, failed }); err != failed {
		t.Errorf("got %v", err)
	}
	if raw, err := p.Read(); string(raw) != "onetwo" || err != nil {
		t.Errorf("got %q, %v", raw, err)
	}
}

// The holder of the file may read and update it, and there is only one holder.
func TestPrivateFileHasOneHolder(t *testing.T) {
	s := newStore(t)
	p := s.Private("secrets.json")
	release, err := p.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Update(t.Context(), func([]byte) ([]byte, error) { return []byte("x"), nil }); err != nil {
		t.Error(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Lock(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("held twice: %v", err)
	}
	release()
	again, err := p.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again()
}
