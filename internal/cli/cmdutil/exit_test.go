package cmdutil

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

var (
	failed      = wire.Outcome{Kind: wire.CheckFailed, Text: "2 steps failed"}
	unwritable  = wire.Outcome{Kind: wire.LocalIO, Text: "no space"}
	interrupted = wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
)

func TestJoinedErrorsKeepWorstKind(t *testing.T) {
	wrong := usage.New("no such file", "")
	for _, c := range []struct {
		name string
		errs []error
		kind wire.Kind
		also string
	}{
		{"nothing failed", []error{nil, Exit(wire.Outcome{})}, wire.OK, ""},
		{"one failed", []error{nil, Exit(failed)}, wire.CheckFailed, ""},
		{"the first is the ending", []error{Exit(failed), Exit(unwritable)}, wire.CheckFailed, "no space"},
		{"a usage error", []error{wrong, Exit(unwritable)}, wire.Usage, "no space"},
		{"joined twice", []error{Join(Exit(failed), wrong), Exit(unwritable)}, wire.CheckFailed, "no such file,no space"},
		{"joined before", []error{Exit(failed), Join(wrong, Exit(unwritable))}, wire.CheckFailed, "no such file,no space"},
		{"a signal ends the command", []error{Exit(interrupted), Exit(unwritable)}, wire.Signal, ""},
		{"an interrupt needs no warning", []error{Exit(failed), Exit(interrupted)}, wire.CheckFailed, ""},
	} {
		err := Join(c.errs...)
		var also []string
		for _, o := range exitErrorOf(err).Also {
			also = append(also, o.Text)
		}
		if got := strings.Join(also, ","); KindOf(err) != c.kind || got != c.also {
			t.Errorf("%s: got %q with %q, want %q with %q", c.name, KindOf(err), got, c.kind, c.also)
		}
	}
}

// testFactory returns a Factory on buffers, and what standard error has.
func testFactory(t *testing.T) (f *Factory, stderr func() string) {
	t.Helper()
	var out, err bytes.Buffer
	f = New(strings.NewReader(""), &out, &err)
	f.UI, f.Now, f.Getenv = f, time.Now, func(string) string { return "" }
	f.SettleStyles()
	return f, err.String
}

func TestEndOfErrors(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrInterrupted{Sig: syscall.SIGTERM})
	for _, c := range []struct {
		name   string
		err    error
		exit   int
		stderr string
	}{
		{"well", nil, 0, ""},
		{"a usage error", errors.New("no such flag"), 2, "mcpc: no such flag\n"},
		{"a failure and a warning", Join(Exit(failed), Exit(unwritable)), 1, "mcpc: check failed: 2 steps failed\nmcpc: warning: local I/O error: no space\n"},
		{"reported by the command", &ExitError{Outcome: failed, Reported: true}, 1, ""},
		{"a signal", Exit(interrupted), 128 + int(syscall.SIGTERM), ""},
		{"a code of its own", &ExitError{Code: 7}, 7, ""},
	} {
		f, stderr := testFactory(t)
		e := End(ctx, f, c.err)
		if got := stderr(); e.ExitCode() != c.exit || got != c.stderr {
			t.Errorf("%s: got exit code %d and %q, want %d and %q", c.name, e.ExitCode(), got, c.exit, c.stderr)
		}
	}
}

// An answer that could not be written determines the outcome, whatever the command returned, and
// only of this command.
func TestUnwrittenAnswerDecidesOutcome(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		also int
	}{
		{"the command did not notice", nil, 0},
		{"the command noticed", nil, 0},
		{"the command failed too", Exit(failed), 1},
	} {
		f, _ := testFactory(t)
		f.Out = closedFile(t)
		if _, err := f.Stdout().Write([]byte("answer\n")); err == nil {
			t.Fatal("a closed file was written to")
		}
		if c.name == "the command noticed" {
			c.err = f.WriteError("writing the code", os.ErrClosed)
		}
		e := End(t.Context(), f, c.err)
		if e.Outcome.Kind != wire.LocalIO || len(e.Also) != c.also || !strings.HasPrefix(e.Outcome.Text, "writing the result") {
			t.Errorf("%s: got %q %q and %d more", c.name, e.Outcome.Kind, e.Outcome.Text, len(e.Also))
		}
		if e := End(t.Context(), f, nil); !e.Outcome.OK() {
			t.Errorf("%s: the next command ends with %q", c.name, e.Outcome.Text)
		}
	}
}

func closedFile(t *testing.T) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "closed"))
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	return file
}

// TestTheRecordingHasTheFramesOfAnAnswer reads standard output while it is written.
func TestTheRecordingHasTheFramesOfAnAnswer(t *testing.T) {
	f, _ := testFactory(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f.Out, f.RecordTo = w, filepath.Join(t.TempDir(), "calls.jsonl")
	f.StartRecording("demo", capture.ByCommand, nil)
	go func() {
		for n := range 20 {
			f.Record.Tap(wire.Frame{Dir: wire.Received, Raw: fmt.Appendf(nil, "answer %d.", n)})
			_, _ = fmt.Fprintf(f.Stdout(), "answer %d.\n", n)
		}
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if recorded, err := os.ReadFile(f.RecordTo); err != nil || !bytes.Contains(recorded, lines.Bytes()) {
			t.Errorf("the recording does not have %q (%v)", lines.Text(), err)
		}
	}
	_ = f.Record.Close()
}

// The recording has its end before telemetry is sent: a signal may end the process while that
// waits.
func TestTheRecordingEndsFirst(t *testing.T) {
	f, _ := testFactory(t)
	f.RecordTo = filepath.Join(t.TempDir(), "calls.jsonl")
	f.StartRecording("demo", capture.ByCommand, nil)
	f.Record.HasTraffic.Store(true)
	ended := false
	f.OnExit = func(ExitError) {
		raw, err := os.ReadFile(f.RecordTo)
		ended = err == nil && strings.Contains(string(raw), "2 steps failed")
	}
	if f.Finish(ExitError{Outcome: failed}); !ended {
		t.Error("the recording has no end yet")
	}
}
