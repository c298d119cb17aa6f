//go:build unix

package state

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

func acquired(t *testing.T, path string) *flock.Flock {
	t.Helper()
	fl, err := acquire(t.Context(), path)
	if err != nil || fl == nil {
		t.Fatalf("got %v, %v", fl, err)
	}
	return fl
}

// A lock counts while the file that it is on has the name of the lock.
func TestLockOfAnotherFile(t *testing.T) {
	for name, c := range map[string]struct {
		change func(path string) error
		want   bool
	}{
		"as it was": {func(string) error { return nil }, true},
		"removed":   {os.Remove, false},
		"renamed":   {func(path string) error { return os.Rename(path, path+".old") }, false},
		"made anew": {func(path string) error {
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.WriteFile(path, nil, 0o600)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/lock"
			fl := acquired(t, path)
			defer release(fl)
			if err := c.change(path); err != nil {
				t.Fatal(err)
			}
			if same, err := sign(fl); same != c.want || err != nil {
				t.Errorf("counts: %v, %v, want %v", same, err, c.want)
			}
			if raw, _ := os.ReadFile(path); (len(raw) > 0) != c.want {
				t.Errorf("the file of that name holds %q", raw)
			}
		})
	}
}

// A process that waits for a lock whose file is replaced in the meantime continues to wait for the
// lock of the new file.
func TestLockFileIsReplaced(t *testing.T) {
	s, _ := stored(t)
	s.dir.wait = time.Minute
	path := s.dir.file(lockName)
	old := acquired(t, path)
	entered, others := make(chan error, 1), waiters()
	go func() { entered <- s.Update(t.Context(), put) }()
	others = append(others, waiting(t, others, entered))
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	current := acquired(t, path)
	release(old)
	waiting(t, others, entered)
	release(current)
	if err := <-entered; err != nil {
		t.Error(err)
	}
}

// waiters are the goroutines that wait for a lock. A goroutine of an earlier test, which gave up,
// may still be among them.
func waiters() (names []string) {
	stacks := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		name, calls, _ := strings.Cut(stack, " [")
		if strings.Contains(calls, "state.acquire.func1(") && strings.Contains(calls, "unix.Flock(") {
			names = append(names, name)
		}
	}
	return names
}

// waiting waits until a goroutine waits for a lock and is not among others, and returns its name.
func waiting(t *testing.T, others []string, entered <-chan error) string {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		for _, name := range waiters() {
			if !slices.Contains(others, name) {
				return name
			}
		}
		select {
		case err := <-entered:
			t.Fatalf("the lock was taken while another one held it: %v", err)
		default:
		}
	}
	t.Fatal("nothing waits for the lock")
	return ""
}
