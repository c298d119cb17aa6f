// Package clients has configurations of programs that use MCP, in the formats that they write. They
// have a secret in every place for one. A person compared testdata/servers.txt with the
// configurations.
package clients

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/module"
	"mcpc/internal/tests/program"
)

// A Machine is a home folder with the configurations of all programs, a project, and programs in
// the PATH that record their runs.
type Machine struct {
	T             *testing.T
	Home, Project string
	// Ran is the file where the programs record their runs.
	Ran string
	// Env is the environment of the commands.
	Env []string

	inProcess   bool // the commands run in the process of the test
	connections atomic.Int64
}

// New returns a machine whose commands are processes.
func New(t *testing.T) *Machine {
	t.Helper()
	dir := t.TempDir()
	m := &Machine{
		T: t, Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"), Ran: filepath.Join(dir, "ran"),
	}
	for _, part := range []string{"home", "project"} {
		files := os.DirFS(module.Path(t, "internal/tests/clients/testdata/"+part))
		if err := os.CopyFS(filepath.Join(dir, part), files); err != nil {
			t.Fatal(err)
		}
	}
	m.replace(filepath.Join(m.Home, ".claude.json"), "$PROJECT", m.Project)
	bin := filepath.Join(dir, "bin")
	for _, name := range []string{"npx", "uvx", "docker", "python3", "noisy"} {
		m.Write(filepath.Join(bin, name), "#!/usr/bin/env sh\necho "+name+" >> '"+m.Ran+"'\n")
	}
	// All connections to servers on other machines arrive at this listener.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			m.connections.Add(1)
			c.Close()
		}
	}()
	proxy := "http://" + l.Addr().String()
	m.Env = append(program.CleanEnv(), "HOME="+m.Home, "MCPC_STATE="+m.state(), "LC_ALL=C.UTF-8",
		"XDG_CONFIG_HOME=", "CODEX_HOME=",
		"PATH="+m.path(), "HTTPS_PROXY="+proxy, "HTTP_PROXY="+proxy)
	return m
}

// NewInProcess returns a machine whose commands run in the process of the test, which is in its project.
func NewInProcess(t *testing.T) *Machine {
	t.Helper()
	m := New(t)
	m.inProcess = true
	t.Chdir(filepath.Join(m.Project, ".vscode"))
	t.Setenv("PATH", m.path())
	return m
}

// path returns the PATH of the commands.
func (m *Machine) path() string {
	return filepath.Join(filepath.Dir(m.Home), "bin") + string(os.PathListSeparator) + os.Getenv("PATH")
}

func (m *Machine) state() string { return filepath.Join(filepath.Dir(m.Home), "state") }

// Write writes a program or another file.
func (m *Machine) Write(name, text string) {
	m.T.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		m.T.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		m.T.Fatal(err)
	}
}

func (m *Machine) replace(name, old, now string) {
	m.T.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		m.T.Fatal(err)
	}
	m.Write(name, strings.ReplaceAll(string(text), old, now))
}

// MCPC runs a command in a folder of the project, and returns its standard output. The test fails
// if the exit code is not as wanted, or if the output has a secret.
func (m *Machine) MCPC(want string, args ...string) string {
	m.T.Helper()
	got := m.Output(args...)
	if fmt.Sprint(got.Code) != want {
		m.T.Errorf("%q ended with %d, want %s\n%s", args, got.Code, want, got.Stderr)
	}
	if all := got.Stdout + got.Stderr; strings.Contains(all, "CANARY") {
		m.T.Errorf("%q shows a secret:\n%s", args, all)
	}
	return got.Stdout
}

// Output runs a command in a folder of the project.
func (m *Machine) Output(args ...string) clitest.Output {
	m.T.Helper()
	if m.inProcess {
		return (&clitest.Home{Home: program.Home{T: m.T, Env: m.Env}}).MCPC(args...)
	}
	cmd := exec.Command("mcpc", args...)
	cmd.Dir = filepath.Join(m.Project, ".vscode")
	cmd.Env = m.Env
	var out, errs strings.Builder
	cmd.Stdout = &out
	cmd.Stderr = &errs
	_ = cmd.Run()
	return clitest.Output{Stdout: out.String(), Stderr: errs.String(), Code: cmd.ProcessState.ExitCode()}
}

// AssertUntouched checks that no program was run, no connection was opened, and no secret is stored.
func (m *Machine) AssertUntouched() {
	m.T.Helper()
	if ran, err := os.ReadFile(m.Ran); err == nil {
		m.T.Errorf("these ran: %s", ran)
	}
	if n := m.connections.Load(); n > 0 {
		m.T.Errorf("%d connections were opened", n)
	}
	m.AssertNoSecretStored()
}

// AssertNoSecretStored fails the test if the state has a secret.
func (m *Machine) AssertNoSecretStored() {
	m.T.Helper()
	_ = filepath.WalkDir(m.state(), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if raw, err := os.ReadFile(path); err != nil || bytes.Contains(raw, []byte("CANARY")) {
				m.T.Errorf("%s holds a secret (%v)", path, err)
			}
		}
		return nil
	})
}
