package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"mcpc/internal/mock"
	"mcpc/internal/wire"
)

// The servers of the tests: the built-in demo server as a process of its own, or a
// script of internal/mock. Whatever they receive is written down, because "nothing
// was sent" is a promise.

// server keeps its address while the process behind it is stopped and started:
// a port that is given back may be another process's a moment later.
type server struct {
	listener net.Listener
	log      *logFile

	mu      sync.Mutex
	current *branch
	end     func()
}

func newServer(logName string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{listener: l, log: &logFile{name: logName}, end: func() {}}
	go s.accept()
	return s, nil
}

func (s *server) url(path string) string { return "http://" + s.listener.Addr().String() + path }

// accept hands each connection to what is running; with nothing there it is
// hung up on.
func (s *server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		b := s.current
		s.mu.Unlock()
		if b == nil || !b.take(conn) {
			conn.Close()
		}
	}
}

// run puts something behind the address; end must stop it and wait for it.
func (s *server) run(b *branch, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.end = b, end
}

func (s *server) stop() {
	s.mu.Lock()
	end := s.end
	s.current, s.end = nil, func() {}
	s.mu.Unlock()
	end()
}

// A branch is a listener for one life of a server.
type branch struct {
	net.Listener
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (s *server) branch() *branch {
	return &branch{Listener: s.listener, conns: make(chan net.Conn), done: make(chan struct{})}
}

func (b *branch) take(conn net.Conn) bool {
	select {
	case b.conns <- conn:
		return true
	case <-b.done:
		return false
	}
}

func (b *branch) Accept() (net.Conn, error) {
	select {
	case conn := <-b.conns:
		return conn, nil
	case <-b.done:
		return nil, net.ErrClosed
	}
}

func (b *branch) Close() error {
	b.once.Do(func() { close(b.done) })
	return nil
}

// play puts a script of internal/mock behind the address.
func (s *server) play(text string) error {
	script, err := mock.Parse(text)
	if err != nil {
		return err
	}
	b := s.branch()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- script.HTTP(ctx, b, func(r mock.Request) { s.log.request(r.Method, r.Header, r.Message) })
	}()
	s.run(b, func() { cancel(); <-done })
	return nil
}

// demo puts `mcpc demo`, a process, behind the address.
func (s *server) demo(flags ...string) error {
	process, to, err := runDemo(flags)
	if err != nil {
		return err
	}
	b := s.branch()
	front := &http.Server{Handler: s.recording(to)}
	go func() { _ = front.Serve(b) }()
	s.run(b, func() {
		_ = process.Process.Kill()
		_ = process.Wait()
		front.Close()
	})
	return nil
}

// runDemo starts mcpc demo on a free port and waits for the line that names it.
func runDemo(flags []string) (*exec.Cmd, *url.URL, error) {
	cmd := exec.Command("mcpc", append([]string{"demo", "--listen", "127.0.0.1:0"}, flags...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	lines := bufio.NewReader(stderr)
	first, _ := lines.ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	found := regexp.MustCompile(`http://[0-9.:]+/mcp`).FindString(first)
	if found == "" {
		return nil, nil, fmt.Errorf("mcpc demo says %q", first)
	}
	to, err := url.Parse(found)
	return cmd, to, err
}

// recording is a proxy that hands everything on, to any path, and writes it
// down.
func (s *server) recording(to *url.URL) http.Handler {
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = to.Scheme, to.Host, to.Host
	}}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.log.request(r.Method, r.Header, wire.ParseMessage(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})
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
	lines := &lineLog{log: &logFile{name: os.Args[2]}}
	_ = script.Stdio(context.Background(), mock.Process{
		In: io.TeeReader(os.Stdin, lines), Out: os.Stdout, Err: os.Stderr, Exit: os.Exit,
		IgnoreTerm: func() { signal.Ignore(syscall.SIGTERM) },
	})
}

// A logFile is what a server saw, written as it comes, so that a script can
// search it and wait for it.
type logFile struct {
	name string
	mu   sync.Mutex
}

func (l *logFile) line(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.OpenFile(l.name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprintf(file, format+"\n", args...)
}

// shownFields are the header fields that tests are about.
var shownFields = []string{"Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region",
	"Mcp-Param-Priority", "Mcp-Param-Dry-Run", "Authorization", "X-Canary", "Last-Event-Id"}

// request writes `POST tools/call {"jsonrpc":...} Mcp-Method=tools/call ...`.
func (l *logFile) request(method string, header http.Header, m *wire.Message) {
	line := method + " " + m.Method + " " + string(m.Raw)
	for _, name := range shownFields {
		if value := header.Get(name); value != "" {
			line += " " + name + "=" + value
		}
	}
	l.line("%s", line)
}

// A lineLog writes down what comes over stdio: `IN tools/call {"jsonrpc":...}`.
type lineLog struct {
	log  *logFile
	rest []byte
}

func (l *lineLog) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		l.log.line("IN %s %s", wire.ParseMessage(line).Method, line)
		l.rest = rest
	}
}

// newTestServer is a server for a test that is no script.
func newTestServer(t *testing.T) *server {
	t.Helper()
	s, err := newServer(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop(); s.listener.Close() })
	return s
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

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// givenPorts keeps two tests that run side by side from getting one port.
var givenPorts sync.Map

// freePort finds a port for a server that takes a moment to begin. It is not an
// ephemeral port: no other process is given it meanwhile.
func freePort(t *testing.T) string {
	t.Helper()
	for {
		port := strconv.Itoa(20_000 + rand.IntN(12_000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if _, given := givenPorts.LoadOrStore(port, true); !given {
			return port
		}
	}
}
