//go:build unix

package terminal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"mcpc/internal/tests/program"
)

// A Terminal is a pseudo-terminal with one command.
type Terminal struct {
	Cmd *exec.Cmd
	// PTY is the side of the terminal that a person reads.
	PTY *os.File

	t testing.TB
	// done is closed after all output was read.
	done chan struct{}

	// mu guards the output.
	mu  sync.Mutex
	out bytes.Buffer
}

// Start starts a command on a terminal of 24 lines and the given columns. The command has a
// separate home and state, no pager, and the variables of env. It is killed when the test ends.
func Start(t testing.TB, columns int, env []string, argv ...string) *Terminal {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(program.CleanEnv(), "TERM=xterm-256color", "MCPC_NO_PAGER=1", "LC_ALL=C.UTF-8",
		"HOME="+cmd.Dir, "MCPC_STATE="+filepath.Join(cmd.Dir, "state"))
	cmd.Env = append(cmd.Env, env...)
	return StartCommand(t, 24, columns, cmd)
}

// StartCommand starts a command on a terminal of the given size. It is killed when the test ends.
func StartCommand(t testing.TB, lines, columns int, cmd *exec.Cmd) *Terminal {
	t.Helper()
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(lines), Cols: uint16(columns)})
	if err != nil {
		t.Fatal(err)
	}
	tm := &Terminal{t: t, Cmd: cmd, PTY: f, done: make(chan struct{})}
	go tm.read()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		f.Close()
	})
	return tm
}

func (tm *Terminal) read() {
	defer close(tm.done)
	block := make([]byte, 4096)
	for {
		n, err := tm.PTY.Read(block)
		tm.mu.Lock()
		tm.out.Write(block[:n])
		tm.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Output returns the output of the command until now.
func (tm *Terminal) Output() string {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	return tm.out.String()
}

// Resize changes the size of the terminal and clears the recorded output.
func (tm *Terminal) Resize(lines, columns int) {
	tm.mu.Lock()
	tm.out.Reset()
	tm.mu.Unlock()
	_ = pty.Setsize(tm.PTY, &pty.Winsize{Rows: uint16(lines), Cols: uint16(columns)})
}

// Await waits until the output matches the pattern.
func (tm *Terminal) Await(pattern string) {
	tm.t.Helper()
	want := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(program.Patience); !want.MatchString(tm.Output()); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tm.t.Fatalf("the terminal never showed %s:\n%q", pattern, tm.Output())
		}
	}
}

// Type sends typed text to the command.
func (tm *Terminal) Type(text string) {
	tm.t.Helper()
	if _, err := io.WriteString(tm.PTY, text); err != nil {
		tm.t.Fatal(err)
	}
}

// Ends waits for the end of the command, checks its exit code or signal, and returns its whole
// output.
func (tm *Terminal) Ends(want string) string {
	tm.t.Helper()
	out := tm.EndsSomehow()
	if got := program.Ending(tm.Cmd.ProcessState); got != want {
		tm.t.Errorf("%q ended with %s, want %s\n%q", tm.Cmd.Args, got, want, out)
	}
	return out
}

// EndsSomehow waits for the end of the command, with any exit code or signal, and returns its whole
// output.
func (tm *Terminal) EndsSomehow() string {
	tm.t.Helper()
	stop := time.AfterFunc(program.Patience, func() { _ = tm.Cmd.Process.Kill() })
	defer stop.Stop()
	err := tm.Cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		tm.t.Fatal(err)
	}
	select {
	case <-tm.done:
	case <-time.After(program.Patience):
		const command = "ps axww -o pid,ppid,stat,args; ls -l /proc/[0-9]*/fd 2>/dev/null | grep -e : -e pts/"
		holders, _ := exec.Command("sh", "-c", command).CombinedOutput()
		tm.t.Fatalf("a process still holds the terminal:\n%s", holders)
	}
	return tm.Output()
}

// Shown returns the lines of an output, without colours. It ignores control sequences that move the
// cursor to a different line; a Screen supports them.
func Shown(output string) []string {
	var lines []string
	plain := strings.ReplaceAll(Colors.ReplaceAllString(output, ""), "\r\n", "\n")
	for _, line := range strings.Split(plain, "\n") {
		var cells []rune
		for _, part := range strings.Split(line, "\r") {
			written := []rune(part)
			cells = append(written, cells[min(len(written), len(cells)):]...)
		}
		lines = append(lines, strings.TrimRight(string(cells), " "))
	}
	return lines
}
