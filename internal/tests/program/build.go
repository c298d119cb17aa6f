package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	// Go repeats a test when a package that it imports has changed, and these tests run it as a program.
	_ "mcpc/internal/cli"
	"mcpc/internal/tests/module"
)

// place is the directory of the programs that were built. Tests.Run sets it.
var place string

// Main runs the tests of a package with mcpc in the PATH, and exits. others are directories of
// programs of this module that are in the PATH too.
func Main(m *testing.M, others ...string) {
	tests := Tests{m}
	os.Exit(tests.run(func() error {
		path := os.Getenv("PATH")
		for _, dir := range append(others, "cmd/mcpc") {
			binary, err := build(dir)
			if err != nil {
				return err
			}
			path = filepath.Dir(binary) + string(os.PathListSeparator) + path
		}
		return os.Setenv("PATH", path)
	}))
}

// Tests are the tests of a package that build programs.
type Tests struct{ M interface{ Run() int } }

// Run runs the tests, and removes the programs that they built. It does not change the PATH: it is
// for a TestMain that puts a program of its own there.
func (ts Tests) Run() int { return ts.run(func() error { return nil }) }

func (ts Tests) run(prepare func() error) int {
	dir, err := os.MkdirTemp("", "mcpc-programs")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	place = dir
	defer os.RemoveAll(dir)
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := ts.M.Run()
	endings.Lock()
	defer endings.Unlock()
	for _, end := range slices.Backward(endings.all) {
		end()
	}
	return code
}

// endings are the functions of AtEnd.
var endings struct {
	sync.Mutex
	all []func()
}

// AtEnd makes Main and Run call a function after the last test, before the functions that were added earlier. It is
// for a server that several tests share.
func AtEnd(end func()) {
	endings.Lock()
	defer endings.Unlock()
	endings.all = append(endings.all, end)
}

// Built returns the path of mcpc as users get it, without the race detector. The first call builds
// it.
func Built(t testing.TB) string {
	t.Helper()
	return Build(t, "cmd/mcpc")
}

// builds are functions that build a program, by its directory.
var builds sync.Map

// Build returns the path of the program of a directory, which is named as from the root of the
// module. The first call builds it.
func Build(t testing.TB, dir string) string {
	t.Helper()
	binary, err := build(dir)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

func build(dir string) (string, error) {
	once, _ := builds.LoadOrStore(dir, sync.OnceValues(func() (string, error) {
		if place == "" {
			return "", fmt.Errorf("the TestMain of this package must call program.Main")
		}
		own, err := os.MkdirTemp(place, "built")
		if err != nil {
			return "", err
		}
		binary := filepath.Join(own, filepath.Base(dir))
		if runtime.GOOS == "windows" {
			binary += ".exe"
		}
		root, err := module.Root()
		if err != nil {
			return "", err
		}
		cmd := exec.Command("go", "build", "-o", binary, "./"+dir)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", dir, err, out)
		}
		return binary, nil
	}))
	return once.(func() (string, error))()
}
