package host_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/connect/host"
	"mcpc/internal/spool"
	"mcpc/internal/tests/connecttest"
	"mcpc/internal/wire"
)

// cross records an exchange like a connection.
func cross(env *host.Env, id int, method string) {
	env.Record.HasTraffic.Store(true)
	sent := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method)
	got := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id)
	env.Record.Tap(wire.Frame{Time: connecttest.Start, Dir: wire.Sent, Raw: []byte(sent)})
	env.Record.Tap(wire.Frame{Time: connecttest.Start, Dir: wire.Received, Raw: []byte(got)})
}

// recorded returns the text of the recordings in a ring.
func recorded(t *testing.T, env *host.Env) (text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(env.State, host.TrafficDir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text += string(raw)
	}
	return text
}

// A recording is kept if it has traffic, or if a failure is no mistake of the command line.
func TestRecordingIsKeptAfterTrafficOrFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		off     func(*host.Env)
		crosses bool
		out     wire.Outcome
		want    string // a part of the recording; "" means no part
	}{
		{"a good exchange", nil, true, wire.Outcome{}, `"method\":\"ping\"`},
		{"a usage error", nil, false, wire.Outcome{Kind: wire.Usage, Text: "wrong"}, ""},
		{"a usage error later", nil, true, wire.Outcome{Kind: wire.Usage, Text: "wrong"}, `"wrong"`},
		{"a signal", nil, false, wire.Outcome{Kind: wire.Signal}, ""},
		{"nothing", nil, false, wire.Outcome{}, ""},
		{"no connection", nil, false, wire.Outcome{Kind: wire.Transport, Text: "refused"}, `"refused"`},
		{"--no-record", func(e *host.Env) { e.NoRecord = true }, true, wire.Outcome{}, ""},
		{"--record off", func(e *host.Env) { e.RecordTo = host.OffWord }, true, wire.Outcome{}, ""},
	} {
		env, _ := connecttest.Env(t, "")
		env.NoRecord = false
		if c.off != nil {
			c.off(env)
		}
		env.StartRecording("h.example", capture.ByCommand, nil)
		if c.crosses && env.Record.Recorder != nil {
			cross(env, 1, "ping")
		}
		env.EndRecording(c.out, 1)
		env.EndRecording(wire.Outcome{Kind: wire.Internal, Text: "again"}, 1)
		got := recorded(t, env)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || strings.Contains(got, "again") {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// A recording has no secret of the command line, and its head names the recorder.
func TestTheHeadOfARecording(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "")
	env.NoRecord = false
	env.Args = []string{"call", "x", "-H", "X-Api-Key: s3cret-of-header", "--header", "X-Tenant: blue", "-H"}
	env.LearnArgs()
	env.StartRecording("h.example", capture.ByCommand, []string{"server", "arg"})
	env.StartRecording("another", capture.ByCommand, nil) // the second conversation
	cross(env, 1, "s3cret-of-header")
	env.EndRecording(wire.Outcome{}, 0)
	got := recorded(t, env)
	for text, there := range map[string]bool{
		"s3cret-of-header": false, "X-Tenant: blue": true, `"h.example"`: true,
		"another": false, `["server","arg"]`: true, `"1.2.3"`: true,
	} {
		if strings.Contains(got, text) != there {
			t.Errorf("%s is there: %t: %s", text, !there, got)
		}
	}
	if env.Record.Conns != 2 {
		t.Errorf("%d conversations", env.Record.Conns)
	}
}

// The last exchange with a method is shown after a command, in the ring and in a file that others use too.
func TestLastRow(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", filepath.Join(t.TempDir(), "traffic.jsonl")} {
		var before *host.Env
		if file != "" {
			before, _ = connecttest.Env(t, "")
			before.NoRecord, before.RecordTo = false, file
			before.StartRecording("h.example", capture.ByCommand, nil)
			cross(before, 90, "tools/call")
			before.EndRecording(wire.Outcome{}, 0)
		}
		env, _ := connecttest.Env(t, "")
		env.NoRecord, env.RecordTo = false, file
		env.StartRecording("h.example", capture.ByCommand, nil)
		cross(env, 1, "tools/list")
		cross(env, 2, "tools/call")
		cross(env, 3, "ping")
		for method, want := range map[string]string{"tools/call": "2", "tools/list": "1", "ping": "3", "none": "3"} {
			if row := env.Record.LastRow(file, method, nil); row == nil || row.ID != want {
				t.Errorf("%q, %s: %+v", file, method, row)
			}
		}
		cross(env, 4, "tools/call")
		if row := env.Record.LastRow(file, "tools/call", nil); row == nil || row.ID != "4" {
			t.Errorf("%q, later: %+v", file, row)
		}
		env.EndRecording(wire.Outcome{}, 0)
	}
	if (&host.Recording{}).LastRow("", "ping", nil) != nil {
		t.Error("nothing was recorded")
	}
}

// An outcome after which a command continues is recorded if a request got no response.
func TestUnansweredOutcomeIsRecorded(t *testing.T) {
	t.Parallel()
	id := []byte("7")
	for _, c := range []struct {
		name string
		out  wire.Outcome
		want bool
	}{
		{"a timeout", wire.Outcome{Kind: wire.Timeout, ID: id, Text: "gave-up"}, true},
		{"an error", wire.Outcome{Kind: wire.RPCFailed, ID: id, Text: "gave-up"}, false},
		{"no request", wire.Outcome{Kind: wire.Timeout, Text: "gave-up"}, false},
		{
			"a process that has exited before",
			wire.Outcome{
				Kind: wire.Transport, ID: id, Text: "gave-up",
				Process: &wire.ProcessFacts{},
			},
			false,
		},
	} {
		env, _ := connecttest.Env(t, "")
		env.NoRecord = false
		told := 0
		env.Trace.Fail = func(wire.Outcome) { told++ }
		env.StartRecording("h.example", capture.ByCommand, nil)
		cross(env, 1, "ping")
		env.GaveUp(c.out, 1)
		env.EndRecording(wire.Outcome{}, 0)
		if got := recorded(t, env); strings.Contains(got, "gave-up") != c.want || (told == 1) != c.want {
			t.Errorf("%s: told %d times: %s", c.name, told, got)
		}
	}
}

// A successful command ends with the outcome of About.
func TestSuccessfulRecordingEndsWithAbout(t *testing.T) {
	t.Parallel()
	for kind, want := range map[wire.Kind]string{wire.OK: `"found":2`, wire.Timeout: `"late"`} {
		env, _ := connecttest.Env(t, "")
		env.NoRecord = false
		env.StartRecording("h.example", capture.ByCommand, nil)
		cross(env, 1, "ping")
		env.Record.SetOutcome(wire.Outcome{Text: `"found":2`})
		env.EndRecording(wire.Outcome{Kind: kind, Text: `"late"`}, 0)
		if got := recorded(t, env); !strings.Contains(got, strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%s: %s", kind, got)
		}
	}
}

// A recording that cannot be written gives one warning, or no warning if another failure was
// reported before.
func TestARecordingThatFails(t *testing.T) {
	t.Parallel()
	for _, quiet := range []bool{false, true} {
		env, user := connecttest.Env(t, "")
		env.NoRecord, env.RecordTo = false, filepath.Join(t.TempDir(), "none", "traffic.jsonl")
		env.Record.Quiet.Store(quiet)
		env.StartRecording("h.example", capture.ByCommand, nil)
		for id := range 3 {
			cross(env, id, "ping")
			env.Record.Flush()
		}
		env.EndRecording(wire.Outcome{}, 0)
		shown := user.Shown()
		if quiet != (len(shown) == 0) || len(shown) > 1 {
			t.Errorf("quiet %t: %q", quiet, shown)
		}
		if !quiet && (!strings.HasPrefix(shown[0], "warn: the traffic is not recorded: "+env.RecordTo) ||
			!strings.HasSuffix(shown[0], "(--no-record disables recording)")) {
			t.Errorf("shown %q", shown)
		}
	}
}

// A recording that fails is reported before what else of the state cannot be used, also if it is written beside the command.
func TestTheRecordingFailsBeforeTheState(t *testing.T) {
	t.Parallel()
	for range 20 {
		env, user := connecttest.Env(t, "")
		env.NoRecord = false
		env.RecordTo = filepath.Join(t.TempDir(), "none", "traffic.jsonl")
		env.StartRecording("h.example", capture.ByCommand, nil)
		cross(env, 1, "ping")
		env.WarnOfState("the approved definitions cannot be read")
		env.EndRecording(wire.Outcome{}, 0)
		shown := user.Shown()
		if len(shown) != 2 || !strings.Contains(shown[0], "not recorded") || shown[1] != "warn: the approved definitions cannot be read" {
			t.Fatalf("shown %q", shown)
		}
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	wrapped := &fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}
	if got := host.Reason(wrapped); got != syscall.ENOENT.Error() {
		t.Error(got)
	}
	if got := host.Reason(errors.New("other")); got != "other" {
		t.Error(got)
	}
}

// One large answer is kept on the disk of the state, many are not.
func TestSpoolDir(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "")
	if got := host.SpoolDir(env, true); got != spool.Dir(env.State) {
		t.Error(got)
	}
	if got := host.SpoolDir(env, false); got != "" {
		t.Error(got)
	}
}

// The heap of a command is allowed to grow at first, unless a setting of the user or the size of
// the input forbids it.
func TestTuneGC(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	env, _ := connecttest.Env(t, "")
	env.Getenv = connecttest.Getenv("GOGC=50")
	if host.TuneGC(env, false); env.Ballast != nil {
		t.Error("GOGC says otherwise")
	}
	env.Getenv = connecttest.Getenv()
	host.TuneGC(env, true)
	if len(env.Ballast) != 8<<20 {
		t.Errorf("%d bytes", len(env.Ballast))
	}
	ballast := env.Ballast
	if host.TuneGC(env, false); &env.Ballast[0] != &ballast[0] {
		t.Error("a later conversation changes it")
	}
	if host.KeepHeapSmall(env); len(env.Ballast) != 0 || percent() != 100 {
		t.Errorf("%d bytes, %d %%", len(env.Ballast), percent())
	}
}

// A UI without a user answers no, shows nothing and has no input.
func TestQuietAnswersNo(t *testing.T) {
	t.Parallel()
	var ui host.UI = host.Quiet{}
	_, typed := ui.TypedLine(t.Context(), "", false)
	_, _, input := ui.Input("x")
	if ui.Interactive() || ui.CanAsk() || ui.AskAlways(t.Context(), "", "") != "no" ||
		typed == nil || input == nil {
		t.Error("there is a user")
	}
	if got := ui.HintText(wire.Run("list")); got != wire.Run("list").String() {
		t.Error(got)
	}
}

// The ring is pruned after each 64th run.
func TestTheRingIsPruned(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "")
	env.NoRecord = false
	env.Now = time.Now // the age of a run is the age of its file
	old := time.Now().Add(-10_000 * time.Hour)
	var numbers []int
	for n := range 64 {
		one := *env
		one.Shared = new(host.Shared)
		one.StartRecording("h.example", capture.ByCommand, nil)
		cross(&one, 1, "ping")
		if one.EndRecording(wire.Outcome{}, 0); n == 0 {
			ring, err := one.Ring()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(ring.Path(1), old, old); err != nil {
				t.Fatal(err)
			}
		}
		if n >= 62 {
			ring, _ := one.Ring()
			all, err := ring.Numbers()
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, len(all))
		}
	}
	if !slices.Equal(numbers, []int{63, 63}) {
		t.Errorf("%d runs before and after", numbers)
	}
}
