//go:build programs

package packed

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The program zstd reads such a file.
func TestZstdReadsIt(t *testing.T) {
	zstd, err := exec.LookPath("zstd")
	if err != nil {
		t.Fatal("zstd is needed: scripts/preflight.sh")
	}
	text, path := sample(2*frameSize+1), filepath.Join(t.TempDir(), "x.zst")
	if err := os.WriteFile(path, written(t, text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := exec.Command(zstd, "-dc", path).Output(); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes: %v", len(got), err)
	}
}
