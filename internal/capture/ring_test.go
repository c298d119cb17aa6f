package capture

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A counter that is no plain file is neither read nor written: a link could lead to any
// file of the user's. A run gets its number all the same.
func TestTheCounterFollowsNoLink(t *testing.T) {
	for _, planted := range []string{"link", "link to nothing", "folder"} {
		t.Run(planted, func(t *testing.T) {
			if runtime.GOOS == "windows" && planted != "folder" {
				t.Log("links are for administrators there")
				return
			}
			ring := NewRing(t.TempDir())
			precious, counter := filepath.Join(t.TempDir(), "precious"), filepath.Join(ring.Dir(), counterName)
			var err error
			switch planted {
			case "folder":
				err = os.Mkdir(counter, 0o700)
			case "link":
				if err = os.WriteFile(precious, []byte("000000000041\nprecious"), 0o600); err == nil {
					err = os.Symlink(precious, counter)
				}
			default:
				err = os.Symlink(precious, counter)
			}
			if err != nil {
				t.Fatal(err)
			}
			for want := 1; want <= 2; want++ {
				f, run, err := ring.Create()
				if err != nil || run != want {
					t.Fatalf("run %d, %v, want %d", run, err, want)
				}
				f.Close()
			}
			raw, err := os.ReadFile(precious)
			if planted == "link" && string(raw) != "000000000041\nprecious" || planted != "link" && err == nil {
				t.Errorf("the file behind the link is %q", raw)
			}
		})
	}
}
