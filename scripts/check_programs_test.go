//go:build programs

package scripts

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// commandsOf are the programs that each step of check.sh runs, in order. A step or a command
// that is taken out of check.sh is missed here.
var commandsOf = map[string][]string{
	"format":      {"go run mvdan.cc/gofumpt@v0.12.0 -l cmd internal scripts"},
	"vet":         {"go vet -tags programs ./...", "go vet -tags peers,torture ./internal/tests/... ./internal/web/..."},
	"vet-windows": {"windows go vet ./cmd/... ./internal/..."},
	"modules":     {"go mod tidy -diff", "go mod verify"},
	"staticcheck": {"go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./..."},
	"windows":     {"windows.sh"},
	"release":     {"go -C scripts/release vet .", "release.sh --only linux/amd64,windows/amd64 --twice", "try.sh dist"},
	"race":        {"go test -race -tags programs -vet=off -timeout 20m -parallel 6 ./internal/bench ./internal/capture "},
	"tests": {
		"go list ./...", "go list ./internal/bench ./internal/capture ",
		"go test -tags programs -vet=off -timeout 20m -parallel 6 mcpc/not-raced",
	},
	"torture":       {"go test -tags torture -timeout 20m -count=1 -parallel 12 ./internal/tests/torture"},
	"peers-install": {"peers.sh install", "conformance.sh install"},
	"peers":         {"go test -tags peers -timeout 20m -count=1 -parallel 4 -run Peer ./internal/tests/peers ./internal/web"},
	"conformance":   {"conformance.sh run", "conformance.sh server"},
	"tests-quick":   {"go list ./...", "go test -short -p 6 -parallel 6 mcpc/raced mcpc/not-raced"},
}

// notQuick are the steps that --quick leaves out; quickOnly are those that it has instead.
var (
	quickOnly = []string{"tests-quick"}
	quick     = []string{"format", "tests-quick"}
)

// A stub in the place of each program writes down how it was called, and does what the test
// asks of it at one call.
const stub = `#!/bin/sh
call="${GOOS:+$GOOS }$(basename "$0")${1:+ $*}"
echo "$call" >>"$CALLS"
case $call in
*"test -c -o "*) : >"$4" ;;
"go list ./...") printf '%s\n' mcpc/raced mcpc/not-raced ;;
"go list ./internal/bench "*) echo mcpc/raced ;;
"go list -deps "*) echo internal/used/ ;;
esac
case $call in "$AT"*) ;; *) exit 0 ;; esac
case $DO in
fail) exit 1 ;;
print) echo x.go ;;
leave) : >"$TMPDIR/left" ;;
again) DO= TMPDIR=${TMPDIR%/check-*} scripts/check.sh vet; exit ;;
kill) kill -9 $PPID ;;
killlane) kill -9 $(ps -o ppid= -p $PPID) ;;
esac
`

type bar struct{ dir, temp string }

// newBar copies check.sh into a folder in which everything that it runs is a stub.
func newBar(t *testing.T) bar {
	t.Helper()
	b := bar{t.TempDir(), t.TempDir()}
	script, err := os.ReadFile("check.sh")
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, "scripts/check.sh", string(script))
	for _, name := range []string{
		"bin/go", "scripts/preflight.sh", "scripts/peers.sh", "scripts/conformance.sh",
		"scripts/windows.sh", "scripts/release.sh", "scripts/release/try.sh", "scripts/size.sh",
	} {
		b.write(t, name, stub)
	}
	return b
}

func (b bar) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// run runs the bar; do happens at each call that begins with at. It gives the status, what
// was printed, and the calls, sorted.
func (b bar) run(t *testing.T, at, do string, args ...string) (status int, output string, calls []string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "calls")
	cmd := exec.Command("bash", append([]string{filepath.Join(b.dir, "scripts/check.sh")}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(b.dir, "bin")+":"+os.Getenv("PATH"), "CALLS="+log, "AT="+at, "DO="+do,
		"TMPDIR="+b.temp, "GOOS=")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	calls = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	slices.Sort(calls)
	return cmd.ProcessState.ExitCode(), string(out), calls
}

// The bar holds where all goes well, and then has run just the commands above.
func TestBarRunsTheCommandsOfEachStep(t *testing.T) {
	full := slices.DeleteFunc(slices.Sorted(maps.Keys(commandsOf)), func(step string) bool { return slices.Contains(quickOnly, step) })
	for _, c := range []struct {
		args, steps []string
		want        []string
	}{
		{nil, full, []string{"preflight.sh install", "size.sh"}},
		{[]string{"--all"}, full, []string{"preflight.sh install", "size.sh"}},
		{[]string{"--quick"}, quick, []string{"preflight.sh install --quick"}},
		{[]string{"vet", "release"}, []string{"vet", "release"}, []string{"preflight.sh install"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			status, output, calls := newBar(t).run(t, "none", "", c.args...)
			if status != 0 || !strings.Contains(output, "check: ok (") {
				t.Fatalf("status %d: %s", status, output)
			}
			want := slices.Clone(c.want)
			for _, step := range c.steps {
				want = append(want, commandsOf[step]...)
				if !strings.Contains(output, fmt.Sprintf("\n%-14s ", step)) && !strings.HasPrefix(output, step+" ") {
					t.Errorf("the seconds of %s are not told:\n%s", step, output)
				}
			}
			slices.Sort(want)
			if !slices.EqualFunc(calls, want, strings.HasPrefix) {
				t.Errorf("it ran\n%s\nwant\n%s", strings.Join(calls, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

var startsGoroutine = regexp.MustCompile(`(?m)^\s*go [a-z]|\.Go\(`)

// notRaced are packages that start goroutines and are tested without the race detector, and why.
var notRaced = map[string]string{
	"./internal/state":             "what it shares is shared by processes",
	"./internal/cli/app":           "its goroutine serves a browser; web is raced",
	"./internal/cli/catalog":       "its goroutines are those of a command that waits; connect and live are raced",
	"./internal/cli/codegen":       "the same",
	"./internal/cli/judge":         "the same; judge is raced",
	"./internal/cli/mock":          "the same; mock is raced",
	"./internal/cli/proxy":         "the same; internal/proxy is raced",
	"./internal/cli/replay":        "the same",
	"./internal/cli/shell":         "the same; cli/console is raced",
	"./internal/cli/traffic":       "the same; live and capture are raced",
	"./internal/tests/connecttest": "it has no tests",
}

// Each package that starts goroutines is tested with the race detector, or has a reason why not.
func TestConcurrentPackagesAreRaced(t *testing.T) {
	text, err := os.ReadFile("check.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(text), "\nraced=(\n")
	if !ok {
		t.Fatal("check.sh has no list of raced packages")
	}
	list, _, _ = strings.Cut(list, "\n)\n")
	out, err := exec.Command("bash", "-c", "printf '%s\\n' "+strings.ReplaceAll(list, "\n", " ")).Output()
	if err != nil {
		t.Fatal(err)
	}
	raced := strings.Fields(string(out))
	concurrent := map[string]bool{}
	err = filepath.WalkDir("../internal", func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata") ||
			strings.HasPrefix(name, "../internal/tests/") {
			return err
		}
		raw, err := os.ReadFile(name)
		dir := "." + strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name)), "..")
		concurrent[dir] = concurrent[dir] || startsGoroutine.Match(raw)
		return err
	})
	if err != nil || len(concurrent) < 15 {
		t.Fatalf("%d packages: %v", len(concurrent), err)
	}
	for dir, goroutines := range concurrent {
		isRaced := slices.ContainsFunc(raced, func(pattern string) bool {
			above, all := strings.CutSuffix(pattern, "/...")
			return pattern == dir || all && strings.HasPrefix(dir+"/", above+"/")
		})
		if _, excused := notRaced[dir]; goroutines && isRaced == excused {
			t.Errorf("%s starts goroutines: raced %v, with a reason why not: %v", dir, isRaced, excused)
		}
	}
	for _, pattern := range raced {
		if _, err := os.Stat(filepath.Join("..", strings.TrimSuffix(pattern, "/..."))); err != nil {
			t.Error(err)
		}
	}
}

// Each command that fails fails the bar, by the name of its step, and no other step.
func TestFailingCommandFailsTheBarByItsStep(t *testing.T) {
	b := newBar(t)
	for _, step := range slices.Sorted(maps.Keys(commandsOf)) {
		for _, command := range commandsOf[step] {
			t.Run(step+"/"+command, func(t *testing.T) {
				t.Parallel()
				b := bar{b.dir, t.TempDir()}
				b.fails(t, step, command, "fail")
			})
		}
	}
	for _, do := range []string{"print", "leave", "kill", "killlane"} {
		t.Run("format/"+do, func(t *testing.T) {
			t.Parallel()
			b := bar{b.dir, t.TempDir()}
			b.fails(t, "format", commandsOf["format"][0], do)
		})
	}
}

func (b bar) fails(t *testing.T, step, command, do string) {
	t.Helper()
	var args []string
	if slices.Contains(quickOnly, step) {
		args = []string{"--quick"}
	}
	status, output, _ := b.run(t, command, do, args...)
	failed := "check: FAILED: " + step + " ("
	if do == "killlane" { // and no step after it ran
		failed = "check: FAILED: " + step + " modules "
	}
	if status != 1 || !strings.Contains(output, failed) || strings.Contains(output, "check: ok") {
		t.Errorf("status %d, want 1 and %q:\n%s", status, failed, output)
	}
}

// A directory is checked by one bar at a time. What a killed one left is no obstacle.
func TestSecondBarOfADirectoryIsRefused(t *testing.T) {
	b := newBar(t)
	if status, output, _ := b.run(t, commandsOf["format"][0], "again", "format"); status != 1 || !strings.Contains(output, " checks this directory already\n") {
		t.Errorf("a second bar: status %d: %s", status, output)
	}
	name, err := exec.Command("bash", "-c", `cd "$1"; echo "check-$EUID-$(cksum <<<"$PWD" | cut -d ' ' -f 1)"`, "bash", b.dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(b.temp, strings.TrimSpace(string(name)))
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []string{"", strconv.Itoa(ended.Process.Pid)} {
		if err := os.MkdirAll(filepath.Join(work, "format"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(work, "pid"), []byte(pid), 0o644); err != nil {
			t.Fatal(err)
		}
		if status, output, _ := b.run(t, "none", "", "format"); status != 0 {
			t.Errorf("after a killed bar: status %d: %s", status, output)
		}
		if left, _ := os.ReadDir(b.temp); len(left) > 0 {
			t.Errorf("%s is left", left[0])
		}
	}
}

// Without what the machine must have nothing is run.
func TestPreflightFailsTheBar(t *testing.T) {
	for _, args := range [][]string{nil, {"--all"}, {"--quick"}} {
		status, output, calls := newBar(t).run(t, "preflight.sh", "fail", args...)
		if status == 0 || strings.Contains(output, "check: ok") || len(calls) != 1 {
			t.Errorf("%v: status %d after %q:\n%s", args, status, calls, output)
		}
	}
}

func TestBarRefusesUnknownSteps(t *testing.T) {
	for _, args := range [][]string{{"nope"}, {"run"}, {"main"}, {"--nope"}, {"vet", "nope"}} {
		cmd := exec.Command("bash", append([]string{"check.sh"}, args...)...)
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%v: %v, want status 2", args, err)
		}
	}
}

// CI runs the whole bar.
func TestCIRunsTheBar(t *testing.T) {
	text, err := os.ReadFile("../.ci/run")
	if err != nil || !strings.HasSuffix(string(text), "\nexec scripts/check.sh\n") {
		t.Errorf("%q, %v", text, err)
	}
}

// A second bar leaves out what no changed file can affect, and runs it all again with --all.
func TestBarSkipsStepsOfUnchangedFiles(t *testing.T) {
	b := newBar(t)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@x.example"}, args...)...)
		cmd.Dir = b.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "all")
	full := []string{"peers-install", "peers", "torture", "conformance", "windows", "release"}
	for _, c := range []struct {
		name, file string // file is written before the bar
		at, do     string // a call that goes wrong
		args       []string
		leftOut    []string
	}{
		{name: "nothing is known"},
		{name: "nothing changed", leftOut: full},
		{name: "all", args: []string{"--all"}},
		{name: "a page", file: "docs/x.md", leftOut: []string{"torture", "conformance", "windows"}},
		{name: "a test program", file: "scripts/peers/x/main.go", leftOut: []string{"torture", "conformance", "windows", "release"}},
		{name: "a package", file: "internal/used/x.go"},
		{name: "a page, and no list of packages", file: "docs/x.md", at: "go list -deps", do: "fail"},
		{name: "the modules", file: "go.mod"},
	} {
		if c.file != "" {
			b.write(t, c.file, "x")
		}
		at := c.at
		if at == "" {
			at = "none"
		}
		status, output, _ := b.run(t, at, c.do, c.args...)
		if status != 0 {
			t.Fatalf("%s: status %d: %s", c.name, status, output)
		}
		for _, step := range full {
			out := strings.Contains(output, fmt.Sprintf("%-14s left out", step))
			if want := slices.Contains(c.leftOut, step); out != want {
				t.Errorf("%s: %s is left out: %v, want %v", c.name, step, out, want)
			}
		}
		if c.file != "" {
			if err := os.Remove(filepath.Join(b.dir, c.file)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
