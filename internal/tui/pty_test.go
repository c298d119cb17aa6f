//go:build unix

package tui

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// A terminal runs a view on a pseudo-terminal.
type terminal struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	before *term.State
	end    chan error

	mu  sync.Mutex
	out bytes.Buffer
}

func onTerminal(t *testing.T, ctx context.Context, o Options) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	before, err := term.GetState(int(slave.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	tm := &terminal{t: t, master: master, slave: slave, before: before, end: make(chan error, 1)}
	o.In, o.Out, o.Env, o.Now = slave, slave, []string{"TERM=xterm-256color"}, time.Now
	go func() {
		for block := make([]byte, 4096); ; {
			n, err := master.Read(block)
			tm.mu.Lock()
			tm.out.Write(block[:n])
			tm.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { tm.end <- Run(ctx, o) }()
	t.Cleanup(func() { slave.Close(); master.Close() })
	return tm
}

func (tm *terminal) await(text string) {
	tm.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		tm.mu.Lock()
		out := tm.out.String()
		tm.mu.Unlock()
		if strings.Contains(out, text) {
			return
		}
		if time.Now().After(deadline) {
			tm.t.Fatalf("the terminal never got %q:\n%q", text, out)
		}
	}
}

// ends waits for the end of the view; the terminal must be as it was before.
func (tm *terminal) ends() error {
	tm.t.Helper()
	select {
	case err := <-tm.end:
		tm.await("\x1b[?1049l")
		tm.await("\x1b[?25h")
		after, e := term.GetState(int(tm.slave.Fd()))
		if e != nil || *after != *tm.before {
			tm.t.Errorf("the modes of the terminal are not those of before: %v", e)
		}
		return err
	case <-time.After(patience):
		tm.t.Fatal("the view does not end")
	}
	return nil
}

// The terminal is restored after every kind of end.
func TestTerminalIsRestored(t *testing.T) {
	t.Run("q", func(t *testing.T) {
		tm := onTerminal(t, t.Context(), Options{Reader: newReader()})
		tm.await("initialize")
		_, _ = tm.master.WriteString("q")
		if err := tm.ends(); err != nil {
			t.Error(err)
		}
	})
	t.Run("context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		tm := onTerminal(t, ctx, Options{Reader: newReader()})
		tm.await("initialize")
		cancel()
		if err := tm.ends(); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			tm := onTerminal(t, t.Context(), Options{Reader: newReader()})
			tm.await("initialize")
			if err := syscall.Kill(os.Getpid(), signal); err != nil {
				t.Fatal(err)
			}
			if err := tm.ends(); err == nil {
				t.Error("a signal is no error")
			}
		})
	}
	t.Run("stuck reader", func(t *testing.T) {
		r := newReader()
		r.stuck = make(chan struct{})
		defer close(r.stuck)
		tm := onTerminal(t, t.Context(), Options{Reader: r})
		tm.await("reading")
		_, _ = tm.master.WriteString("q")
		if err := tm.ends(); err != nil {
			t.Error(err)
		}
	})
}

// Keys, sizes and changes while the view runs.
func TestViewOnTerminal(t *testing.T) {
	r := newReader()
	tm := onTerminal(t, t.Context(), Options{Reader: r, Actor: newActor()})
	tm.await("initialize")
	_, _ = tm.master.WriteString("2")
	tm.await("search_issues")
	if err := pty.Setsize(tm.master, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGWINCH)
	tm.await("phases")
	_, _ = tm.master.WriteString("gyk")
	tm.await("\x1b]52;c;")
	_, _ = tm.master.WriteString("\x03")
	_ = tm.ends()
}

// Without a terminal there is an error, and nothing is written.
func TestNoTerminal(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	if err := Run(t.Context(), Options{Reader: newReader(), In: in, Out: out, Now: time.Now}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("got %v", err)
	}
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	if err := Run(t.Context(), Options{Reader: newReader(), In: slave, Out: slave, Env: []string{"TERM=dumb"}, Now: time.Now}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("TERM=dumb: got %v", err)
	}
}
