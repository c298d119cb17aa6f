package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"mcpc/internal/mock"
	"mcpc/internal/tests/servers"
)

// A server is a server of the scripts.
type server struct {
	*servers.Server
	listener serverAddress
}

// serverAddress is the address of a server.
type serverAddress struct{ *servers.Server }

func (a serverAddress) Addr() net.Addr {
	address, _ := net.ResolveTCPAddr("tcp", a.Address())
	return address
}

func newServer(logName string) (*server, error) {
	s, err := servers.New(logName)
	if err != nil {
		return nil, err
	}
	return &server{Server: s, listener: serverAddress{s}}, nil
}

func (s *server) url(path string) string { return s.URL(path) }

func (s *server) stop() { s.Stop() }

func (s *server) play(script string) error { return s.Play(script) }

func (s *server) demo(flags ...string) error { return s.Demo(flags...) }

// A protected is a login server of the scripts and cases. It counts what it receives.
type protected struct {
	*httptest.Server
	login *servers.Login
	asked sync.Map
	n     atomic.Int64
}

func newProtected(log *servers.Log, instead map[string]string) *protected {
	p := &protected{login: servers.NewLogin(log, instead)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.n.Add(1)
		p.asked.Store(r.URL.Path, true)
		p.login.ServeHTTP(w, r)
	}))
	return p
}

// Close does not wait for handlers that never answer.
func (p *protected) Close() error {
	p.CloseClientConnections()
	p.Server.Close()
	return p.login.Close()
}

// protectedCase returns the server of a case with a file "protected", which has the answers.
func protectedCase(t *testing.T, lines string) *protected {
	t.Helper()
	answers, err := servers.ParseAnswers(lines)
	if err != nil {
		t.Fatal(err)
	}
	return newProtected(servers.NewLog(filepath.Join(t.TempDir(), "log")), answers)
}

// spied is a program: spied SCRIPT LOG plays a script over stdio, as mcpc mock
// does, and writes down what it reads.
func spied() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	script, err := mock.Parse(string(text))
	if err != nil {
		panic(err)
	}
	_ = script.Stdio(context.Background(), mock.Process{
		In: io.TeeReader(os.Stdin, servers.NewLog(os.Args[2]).Input()), Out: os.Stdout, Err: os.Stderr, Exit: os.Exit,
		IgnoreTerm: func() { signal.Ignore(syscall.SIGTERM) },
	})
}

// playFile writes a script, and gives the name of a log for what it sees.
func playFile(t *testing.T, script string) (name, log string) {
	t.Helper()
	dir := t.TempDir()
	name = filepath.Join(dir, "script")
	if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return name, filepath.Join(dir, "log")
}
