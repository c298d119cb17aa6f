//go:build unix

package spool

import (
	"bytes"
	"testing"
)

// Slices of a file are released in large pieces, and read again as they were.
func TestTrail(t *testing.T) {
	want := random(Memory + 3*Piece)
	b := Dir(t.TempDir()).New(0)
	if _, err := b.Write(want); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	all, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	var passed Trail
	calls := 0
	for at := 100; at+500 <= len(all); at += 501 {
		before := passed.from
		passed.Pass(all[at : at+500])
		passed.Pass([]byte("of no file"))
		if passed.from != before {
			calls++
		}
		if left := at + 500 - passed.from; left >= Piece {
			t.Fatalf("%d bytes are not released", left)
		}
	}
	if calls > len(all)/Piece+1 {
		t.Errorf("released %d times", calls)
	}
	if !bytes.Equal(all, want) {
		t.Error("other bytes")
	}
}
