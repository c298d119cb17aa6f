//go:build torture && linux && amd64

package torture

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/state"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/servers"
	"mcpc/internal/wire"
)

func TestMain(m *testing.M) { os.Exit(program.Tests{M: m}.Run()) }

// Each call to the operating system that can fail does so once, one after the other, in runs that
// otherwise succeed. For each: no panic, no hang, an exit code that fits, the whole answer or no
// answer, and no leftovers.
func TestTorture(t *testing.T) {
	t.Setenv("CGO_ENABLED", "0")
	binary := program.BuiltMCPC(t)
	launcher := program.Build(t, "internal/tests/torture/testdata/confined")
	script := "speaks 2025-11-25\nsession s1\ntool echo {\"type\":\"object\"}\n"
	legacy, modern, old := servers.ForTest(t), servers.ForTest(t), servers.ForTest(t)
	for _, err := range []error{legacy.Play(script), modern.Play("tool echo\n"), old.Demo()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	transports := map[string][]string{
		"http": {legacy.URL("/mcp")}, "modern": {modern.URL("/mcp")}, "sse": {old.URL("/sse")},
		// A server is under the filter of mcpc, which started it, and is known by its program.
		"stdio": {"--", launcher},
	}
	hit := &tally{calls: map[string]int{}, files: map[string]map[string]bool{}}
	sweep := func(t *testing.T, names ...string) {
		for _, name := range names {
			target := transports[name]
			for command, args := range map[string][]string{
				"init":     append([]string{"init", "--as", "box"}, target...),
				"list":     {"list", "--json"},
				"call":     {"call", "echo", `{"message":"x"}`, "--json"},
				"raw":      {"raw", "tools/list"},
				"close":    {"close"},
				"output":   {"call", "echo", `{"message":"x"}`, "--json", "-o", "answer"},
				"sessions": {"sessions", "--json"},
			} {
				// These do nothing more with another transport than the others do.
				if name != "http" && (command == "output" || command == "sessions" || command == "raw") {
					continue
				}
				t.Run(name+"/"+command, func(t *testing.T) {
					t.Parallel()
					r := rack{
						binary: binary, launcher: launcher, args: args, hit: hit, command: command,
						first: name == "http", whole: name == "stdio" && command == "call",
					}
					if command != "init" {
						r.before = t.TempDir()
						r.prepare(t, target)
					}
					r.turn(t)
				})
			}
		}
	}
	// Files are the same for all transports, and so is the code that reports their errors: a call
	// on a file that failed with the first transport does not fail again with the others in the
	// same command. The exception is the command call over stdio, where every call fails.
	t.Run("runs", func(t *testing.T) { sweep(t, "http") })
	t.Run("runs", func(t *testing.T) { sweep(t, "modern", "sse", "stdio") })
	// The order of a program's calls is not always the same, so that the sweep may pass over a
	// rare one. It is made to fail by its number then.
	for nr, name := range callNames {
		for _, words := range [][]string{{"stdio", "init"}, {"http", "init"}, {"http", "list"}} {
			if hit.calls[name] > 0 {
				break
			}
			t.Run(name+"/"+strings.Join(words, "/"), func(t *testing.T) {
				r := rack{binary: binary, launcher: launcher, args: []string{"list", "--json"}, only: nr, hit: hit}
				if target := transports[words[0]]; words[1] == "init" {
					r.args = append([]string{"init", "--as", "box"}, target...)
				} else {
					r.before = t.TempDir()
					r.prepare(t, target)
				}
				r.turn(t)
			})
		}
	}
	total := 0
	for _, name := range callNames {
		if hit.calls[name] == 0 {
			t.Errorf("no %s was made to fail", name)
		}
		total += hit.calls[name]
	}
	t.Logf("%d calls failed: %v", total, hit.calls)
}

// A tally counts the calls that were made to fail.
type tally struct {
	mu    sync.Mutex
	calls map[string]int
	// files are the keys of the calls on files that failed with the first transport, by commands.
	files map[string]map[string]bool
}

func (c *tally) add(failed string) {
	name, _, _ := strings.Cut(failed, " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[name]++
}

// noteFile notes that a call of a command failed on a file.
func (c *tally) noteFile(command, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files[command] == nil {
		c.files[command] = map[string]bool{}
	}
	c.files[command][key] = true
}

// A rack is a command with all its calls.
type rack struct {
	binary, launcher string
	args             []string
	// only is the number of the calls that fail, or 0, which means any.
	only int
	// before is the state that each run starts with, or "".
	before string
	// good is the end of a run where nothing fails.
	good remains
	hit  *tally
	// command is the name of args.
	command string
	// first is set for the first transport.
	first bool
	// whole is set if calls fail even if they failed with the first transport.
	whole bool
}

// remains are what a run leaves.
type remains struct {
	code           int
	stdout, stderr string
	file           string   // what -o wrote
	sessions       []string // that are remembered
}

func (r *rack) prepare(t *testing.T, target []string) {
	cmd := exec.Command(r.binary, append([]string{"init", "--as", "box"}, target...)...)
	cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+r.before)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// turn lets the first call fail, the second, and so on until no call is left.
func (r *rack) turn(t *testing.T) {
	calm := r.run(t, &ordeal{})
	if calm.code != 0 {
		t.Fatalf("without a failure: %+v", calm)
	}
	r.good = calm
	except := r.hit.files[r.command]
	if r.first || r.whole {
		except = nil
	}
	for nth := 1; ; nth++ {
		o := &ordeal{nth: nth, only: r.only, except: except}
		got := r.run(t, o)
		if o.failed == "" {
			return
		}
		r.hit.add(o.failed)
		if r.first && isFile(o.failed) {
			r.hit.noteFile(r.command, o.keys[len(o.keys)-1])
		}
		if wrong := r.wrong(o.failed, got); wrong != "" {
			t.Errorf("call %d, %s, fails: %s\nexit %d\nstdout: %s\nstderr: %s", nth, o.failed, wrong, got.code, got.stdout, got.stderr)
		}
	}
}

// run runs the program once in a new world, which is searched afterwards.
func (r *rack) run(t *testing.T, o *ordeal) remains {
	t.Helper()
	world := t.TempDir()
	o.world = world
	dirs := map[string]string{"state": filepath.Join(world, "state")}
	for _, name := range []string{"tmp", "home", "work"} {
		dirs[name] = filepath.Join(world, name)
		if err := os.Mkdir(dirs[name], 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if r.before != "" {
		if err := copyState(dirs["state"], r.before); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), program.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.binary, r.args...)
	cmd.Dir = dirs["work"]
	// With one processor Go starts fewer threads, and without collection it makes fewer calls.
	cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+dirs["state"], "TMPDIR="+dirs["tmp"], "HOME="+dirs["home"],
		"LC_ALL=C.UTF-8", "GOMAXPROCS=1", "GOGC=off")
	var files [2]*os.File
	for i, name := range []string{"stdout", "stderr"} {
		f, err := os.Create(filepath.Join(world, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	_ = o.run(t, r.launcher, cmd)
	if ctx.Err() != nil {
		t.Errorf("call %d, %s, fails: it hangs", o.nth, o.failed)
	}
	got := remains{
		code: cmd.ProcessState.ExitCode(), stdout: program.Read(t, files[0].Name()), stderr: program.Read(t, files[1].Name()),
		file: program.Read(t, filepath.Join(dirs["work"], "answer")),
	}
	left := leftOvers(t, world)
	store, err := state.Open(dirs["state"])
	if err == nil {
		var st state.State
		st, err = store.Load()
		got.sessions = st.Names()
	}
	if err != nil {
		left = append(left, "a state that cannot be read: "+err.Error())
	}
	for _, what := range left {
		t.Errorf("call %d, %s, fails: it leaves %s", o.nth, o.failed, what)
	}
	return got
}

// copyState copies a state directory; there is nothing but private files in it.
func copyState(to, from string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.Join(to, strings.TrimPrefix(path, from))
		if d.IsDir() {
			return os.MkdirAll(name, 0o700)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(name, raw, 0o600)
	})
}

// leftOvers are the temporary files and processes of a run that is over.
func leftOvers(t *testing.T, world string) (left []string) {
	t.Helper()
	for _, pattern := range []string{"tmp/*", "home/*", "home/.*", "work/.mcpc-*", "state/*.tmp", "state/*/*.tmp"} {
		found, err := filepath.Glob(filepath.Join(world, pattern))
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, found...)
	}
	return append(left, program.ProcessesLeft(t, "TMPDIR="+filepath.Join(world, "tmp"))...)
}

// isFile reports whether a failed call was about a file: not a socket, a pipe or a process.
func isFile(failed string) bool {
	name, subject, _ := strings.Cut(failed, " ")
	return subject != "" && name != "execve" && !strings.HasPrefix(subject, "socket:") && !strings.HasPrefix(subject, "pipe:")
}

var answerID = regexp.MustCompile(`"id":\d+`)

// wrong returns the faults in what a run with one failed call left.
func (r *rack) wrong(failed string, got remains) string {
	plain := func(s string) string { return answerID.ReplaceAllString(s, `"id":0`) }
	switch {
	case strings.Contains(got.stderr, "goroutine ") || strings.Contains(got.stderr, "internal error"):
		return "a panic"
	case !slices.Contains(codesFor(failed), got.code):
		return fmt.Sprintf("the exit code should be one of %v", codesFor(failed))
	case got.code != 0 && !strings.HasPrefix(got.stderr, "mcpc: ") && !strings.Contains(got.stderr, "\nmcpc: "):
		return "nothing says why"
	case got.file != "" && got.file != r.good.file:
		return "-o wrote something else: " + got.file
	case got.code == 0 && !slices.Equal(got.sessions, r.good.sessions):
		return fmt.Sprintf("it says that all is well, and remembers the sessions %q", got.sessions)
	case plain(got.stdout) == plain(r.good.stdout) && got.file == r.good.file:
		return ""
	case got.code == 0:
		return "it says that all is well, and there is another answer"
	case got.stdout != "" && plain(got.stdout) != plain(r.good.stdout) && got.stdout != r.good.file:
		return "the answer is not whole"
	}
	return ""
}

// codesFor are the exit codes that fit the failure of a call.
func codesFor(failed string) []int {
	name, subject, _ := strings.Cut(failed, " ")
	ok, local, transport := 0, wire.LocalIO.ExitCode(), wire.Transport.ExitCode()
	switch {
	case strings.HasSuffix(subject, "/stderr"):
		return []int{ok}
	case strings.HasSuffix(subject, "/stdout"), strings.Contains(subject, "/work"), strings.HasPrefix(subject, "."),
		strings.Contains(subject, "/state"):
		return []int{ok, local}
	case strings.HasPrefix(subject, "socket:"), name == "socket":
		return []int{ok, transport}
	case name == "pipe":
		return []int{ok, local, transport}
	case strings.HasPrefix(subject, "pipe:"), slices.Contains([]string{"clone", "dup", "setsid", "execve", "kill", "pidfd_open"}, name):
		return []int{ok, transport}
	case strings.HasPrefix(subject, "/proc/"):
		return []int{ok}
	}
	return []int{ok, transport}
}
