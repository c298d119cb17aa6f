package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The bench is a module of its own, which go test ./... does not enter: its tests compare
// docs/dev/speed.md to the tables of the program.
func TestBenchModule(t *testing.T) {
	// What is read here is a reason to run the test again.
	for _, pattern := range []string{"../docs/dev/speed.md", "bench/run/*.go", "bench/plan/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			if _, err := os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The go command does not see that the page, outside of that module, was changed.
	cmd := exec.Command("go", "test", "-count=1", "./run")
	cmd.Dir, cmd.Env = "bench", append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test: %v\n%s", err, out)
	}
}
