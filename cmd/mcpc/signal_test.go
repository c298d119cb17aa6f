package main

import (
	"os"
	"testing"

	"mcpc/internal/cli/console"
)

func TestBrokenPipeIsRecognized(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	if _, err := w.Write([]byte("x")); !console.IsBrokenPipe(err) {
		t.Errorf("got %v", err)
	}
}
