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

	// These tests run mcpc as a program. The import makes go test rerun them when the program changes.
	_ "mcpc/internal/cli"
	"mcpc/internal/tests/module"
)

// programDir is the directory of the built programs. Tests.Run sets it.
var programDir string

// Main runs the tests of a package with mcpc in the PATH, and exits. others are directories of
// further programs of this module for the PATH.
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

// Run runs the tests and removes the programs that they built. It does not change the PATH, because
// the TestMain may put a different program there.
func (ts Tests) Run() int { return ts.run(func() error { return nil }) }

// run prepares and runs the tests, calls the functions of AtEnd, and removes the built programs.
func (ts Tests) run(prepare func() error) int {
	dir, err := os.MkdirTemp("", "mcpc-programs")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	programDir = dir
	defer os.RemoveAll(dir)
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := ts.M.Run()
	endFunctions.Lock()
	defer endFunctions.Unlock()
	for _, end := range slices.Backward(endFunctions.all) {
		end()
	}
	return code
}

// endFunctions are the functions of AtEnd.
var endFunctions struct {
	sync.Mutex
	all []func()
}

// AtEnd registers a function that Main and Run call after the last test. The functions run in
// reverse order. It is for a server that several tests share.
func AtEnd(end func()) {
	endFunctions.Lock()
	defer endFunctions.Unlock()
	endFunctions.all = append(endFunctions.all, end)
}

// BuiltMCPC returns the path of mcpc without the race detector, as users get it. The first call builds
// it.
func BuiltMCPC(t testing.TB) string {
	t.Helper()
	return Build(t, "cmd/mcpc")
}

// builds are functions that build a program, by directory.
var builds sync.Map

// Build returns the path of the program in a directory. dir is relative to the root of the module.
// The first call builds it.
func Build(t testing.TB, dir string) string {
	t.Helper()
	binary, err := build(dir)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// build builds the program in a directory once, and returns its path.
func build(dir string) (string, error) {
	once, _ := builds.LoadOrStore(dir, sync.OnceValues(func() (string, error) {
		if programDir == "" {
			return "", fmt.Errorf("the TestMain of this package must call program.Main")
		}
		own, err := os.MkdirTemp(programDir, "built")
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
