//go:build programs

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mcpc/internal/tests/program"
	"mcpc/internal/tests/terminal"
)

// When the terminal goes at which a server was kept, the server stays: it has a session
// of processes of its own, no terminal, and none of its parent's files.
func TestHeldServerOutlivesItsTerminal(t *testing.T) {
	program.MustHave(t, "ps")
	// The holder of a server is the program that keeps it, which a test binary is not.
	t.Setenv("PATH", filepath.Dir(program.BuiltMCPC(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	dir, err := os.MkdirTemp("", "kept") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	env := "MCPC_STATE=" + filepath.Join(dir, "state")
	mcpc := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("mcpc", args...)
		cmd.Env = append(program.CleanEnv(), env)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("mcpc %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	tm := terminal.Start(t, 100, []string{env}, "sh", "-c", `mcpc init --keep --as kept -- mcpc demo --stdio 7</dev/tty && mcpc call change-list list=tools && echo READY && read line`)
	tm.Await("READY")
	// As the system does when a window is closed.
	if err := syscall.Kill(-tm.Cmd.Process.Pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	_ = tm.Cmd.Wait()
	tm.PTY.Close()
	if got := mcpc("list", "--jq", `[.tools[].name] | index("extra") != null`); got != "true\n" {
		t.Errorf("the server is another: %q", got)
	}
	var all struct {
		Sessions []struct{ Held struct{ PID, ServerPID int } }
	}
	if err := json.Unmarshal([]byte(mcpc("sessions", "--json")), &all); err != nil || len(all.Sessions) != 1 {
		t.Fatalf("%v %+v", err, all)
	}
	held := all.Sessions[0].Held
	for _, pid := range []int{held.PID, held.ServerPID} {
		out, err := exec.Command("ps", "-o", "tty=,sess=", "-p", strconv.Itoa(pid)).Output()
		if fields := strings.Fields(string(out)); err != nil || !strings.HasPrefix(fields[0], "?") {
			t.Errorf("process %d has a terminal: %q %v", pid, out, err)
		}
	}
	noTerminalOpen(t, held.PID)
	mcpc("close")
}

// noTerminalOpen looks at what a process has open.
func noTerminalOpen(t *testing.T, pid int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(files) < 4 {
		t.Fatalf("it has %d files open: %v", len(files), err)
	}
	for _, name := range files {
		if to, _ := os.Readlink(name); strings.HasPrefix(to, "/dev/pts") || strings.HasPrefix(to, "/dev/tty") {
			t.Errorf("it has %s open", to)
		}
	}
}
