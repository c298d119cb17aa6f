//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/tests/module"
	"mcpc/internal/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }

// These tests drive the built program against real servers, which
// scripts/peers.sh installs: go test -tags peers ./internal/tests/peers

// A peer is one line of `scripts/peers.sh table`.
type peer struct {
	name, transport, path string
	tools                 int
	newest                string
	argv                  []string
}

// peers returns the peers that need no login.
func peers(t *testing.T) []peer {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(allPeers(t)), func(p peer) bool { return p.transport == "login" })
}

func allPeers(t *testing.T) []peer {
	t.Helper()
	all, err := peerTable()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var peerTable = sync.OnceValues(readPeerTable)

func readPeerTable() ([]peer, error) {
	root, err := module.Root()
	if err != nil {
		return nil, err
	}
	script := filepath.Join(root, "scripts", "peers.sh")
	if out, err := exec.Command(script, "check").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the peers are not installed; run scripts/peers.sh install\n%s", out)
	}
	out, err := exec.Command(script, "table").Output()
	if err != nil {
		return nil, err
	}
	var all []peer
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		f := strings.Split(line, "\t")
		tools, err := strconv.Atoi(f[3])
		if err != nil {
			return nil, fmt.Errorf("peers.sh table: %q: %w", line, err)
		}
		all = append(all, peer{f[0], f[1], f[2], tools, f[4], f[5:]})
	}
	return all, nil
}

func peerNamed(t *testing.T, name string) peer {
	t.Helper()
	for _, p := range allPeers(t) {
		if p.name == name {
			return p
		}
	}
	t.Fatalf("no peer is called %s", name)
	return peer{}
}

// start starts a peer that listens, and gives the words that name it to mcpc:
// -s URL, or -- and a command.
func (p peer) start(t *testing.T) []string {
	t.Helper()
	port := program.FreePort(t)
	argv := p.words("{PORT}", port, "{PORT2}", program.FreePort(t), "{PORT3}", program.FreePort(t), "{DIR}", t.TempDir())
	if p.transport == "stdio" {
		return append([]string{"--"}, argv...)
	}
	p.listen(t, argv, port)
	host := "127.0.0.1"
	if strings.HasPrefix(p.name, "ts-example") {
		host = "localhost" // its metadata are for that name
	}
	return []string{"-s", "http://" + host + ":" + port + p.path}
}

// words returns the command line of the peer with the values of its variables.
func (p peer) words(variables ...string) []string {
	argv := slices.Clone(p.argv)
	for i, word := range argv {
		argv[i] = strings.NewReplacer(variables...).Replace(word)
	}
	return argv
}

// shared gives the words that name the peer to mcpc, as start does. A peer that listens is started once for all tests
// and ends after the last one: it is for tests that change nothing at the server.
func (p peer) shared(t *testing.T) []string {
	t.Helper()
	if p.transport == "stdio" {
		return p.start(t)
	}
	once, _ := sharedPeers.LoadOrStore(p.name, sync.OnceValues(func() (string, error) {
		port := program.FreePort(t)
		argv := p.words("{PORT}", port)
		cmd := exec.Command(argv[0], argv[1:]...)
		if err := cmd.Start(); err != nil {
			return "", err
		}
		program.AtEnd(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return "http://127.0.0.1:" + port + p.path, awaitPort(port)
	}))
	url, err := once.(func() (string, error))()
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	return []string{"-s", url}
}

// sharedPeers are the peers that listen for several tests, by their names.
var sharedPeers sync.Map

func (p peer) listen(t *testing.T, argv []string, port string) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	if err := awaitPort(port); err != nil {
		t.Fatalf("%s does not listen: %v", p.name, err)
	}
}

// awaitPort waits until something listens on a port.
func awaitPort(port string) error {
	deadline := time.Now().Add(program.Patience)
	for {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A runner runs mcpc, which TestMain put into the PATH, with a separate state directory.
type runner struct {
	t     *testing.T
	state string
	// env are variables in addition to every test's.
	env []string
}

func newRunner(t *testing.T) runner {
	t.Helper()
	return runner{t: t, state: t.TempDir()}
}

func (p runner) environment() []string {
	return append(append(program.CleanEnv(), "MCPC_STATE="+p.state, "MCPC_SERVER="), p.env...)
}

type ran struct {
	stdout, stderr string
	code           int
}

func (p runner) run(args ...string) ran {
	p.t.Helper()
	cmd := exec.Command("mcpc", args...)
	cmd.Env = p.environment()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// want runs mcpc and fails the test unless it ends with the code.
func (p runner) want(code int, args ...string) ran {
	p.t.Helper()
	r := p.run(args...)
	if r.code != code {
		p.t.Fatalf("mcpc %s: exit %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), r.code, code, r.stdout, r.stderr)
	}
	return r
}

// with puts a target's words where mcpc wants them: a command comes last.
func with(target []string, words ...string) []string {
	return append(words, target...)
}

func TestPeersListAndCall(t *testing.T) {
	t.Parallel()
	t.Log("peer                     transport  negotiated  tools  revisions that can be pinned")
	for _, p := range peers(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			m := newRunner(t)
			target := p.shared(t)
			negotiated := m.negotiated(target)
			if negotiated != p.newest {
				t.Errorf("negotiated %s, want %s", negotiated, p.newest)
			}
			var list struct{ Tools []struct{ Name string } }
			mustUnmarshal(t, m.want(0, with(target, "list", "--json")...).stdout, &list)
			if len(list.Tools) != p.tools {
				t.Errorf("listed %d tools, want %d", len(list.Tools), p.tools)
			}
			call := callFor(p)
			if got := m.want(0, with(target, append([]string{"call", "--yes"}, call.args...)...)...).stdout; !strings.Contains(got, call.want) {
				t.Errorf("mcpc call %s gave %q, want %q in it", call.args[0], got, call.want)
			}
			var pinned []string
			// The server memory is built on the same SDK as filesystem, of the same month.
			if !strings.HasPrefix(p.name, "memory") {
				pinned = m.pins(p, target)
			}
			t.Logf("%-24s %-10s %-11s %-6d %s", p.name, p.transport, negotiated, len(list.Tools), strings.Join(pinned, " "))
		})
	}
}

// negotiated is the revision that init ends up with.
func (p runner) negotiated(target []string) string {
	p.t.Helper()
	p.want(0, initWith(target, "--as", "peer")...)
	var sessions struct {
		Sessions []struct{ Name, Protocol string }
	}
	mustUnmarshal(p.t, p.want(0, "sessions", "--json").stdout, &sessions)
	p.want(0, "close")
	return sessions.Sessions[0].Protocol
}

// initWith names the target to init, which takes it as an argument.
func initWith(target []string, flags ...string) []string {
	return append(append([]string{"init"}, flags...), target...)
}

// pins tries every revision with --protocol. Each that the peer speaks must
// work, and each other must end as a protocol error or a refusal by HTTP.
func (p runner) pins(of peer, target []string) []string {
	p.t.Helper()
	var spoken []string
	for _, revision := range client.Revisions() {
		r := p.run(with(target, "list", "--protocol", revision, "--json")...)
		switch {
		case r.code == 0:
			spoken = append(spoken, revision)
		case r.code != 6 && r.code != 7:
			p.t.Errorf("--protocol %s: exit %d\n%s", revision, r.code, r.stderr)
		}
	}
	if len(spoken) == 0 || spoken[0] != of.newest {
		p.t.Errorf("%s can be pinned to %v; its newest revision is %s", of.name, spoken, of.newest)
	}
	return spoken
}

type toolCall struct {
	args []string
	want string
}

func callFor(p peer) toolCall {
	switch {
	case strings.HasPrefix(p.name, "filesystem"):
		return toolCall{[]string{"list_allowed_directories"}, "Allowed directories"}
	case strings.HasPrefix(p.name, "memory"):
		return toolCall{[]string{"read_graph"}, "entities"}
	case strings.HasPrefix(p.name, "pingme"):
		return toolCall{[]string{"PingME"}, "BISMILLAH"}
	}
	return toolCall{[]string{"get-sum", `{"a":40,"b":2}`}, "The sum of 40 and 2 is 42."}
}

func mustUnmarshal(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, text)
	}
}

// TestPeerLesson is the tutorial, with mcpc in place of its curl helper, against
// the server it was written for.
func TestPeerLesson(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"everything-2026-01-http", "everything-http"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newRunner(t)
			m.want(0, "init", peerNamed(t, name).shared(t)[1])
			steps := []struct {
				code   int
				args   []string
				stdout string
				stderr string
			}{
				{0, []string{"list"}, "get-sum", ""},
				{0, []string{"describe", "get-sum"}, `mcpc call get-sum '{"a":`, ""},
				{0, []string{"call", "get-sum", `{"a":40,"b":2}`}, "The sum of 40 and 2 is 42.\n", ""},
				{3, []string{"call", "get-sum", `{"a":"nope","b":2}`}, "", "/a must be number, got string"},
				{5, []string{"call", "get-sum", `{"a":"nope","b":2}`, "--no-validate"}, "xpected number, received string", "result.isError = true"},
				{6, []string{"raw", "tools/frobnicate"}, `"code":-32601`, "-32601"},
				{0, []string{"call", "get-structured-content", `{"location":"New York"}`, "--jq", ".structuredContent.humidity"}, "82\n", ""},
				{0, []string{"call", "get-env"}, "PATH", ""},
				{3, []string{"call", "no-such-tool"}, "", "no tool"},
				{0, []string{"sessions"}, "2025-11-25", ""},
				{0, []string{"close"}, "", "closed"},
			}
			for _, s := range steps {
				r := m.want(s.code, s.args...)
				if !strings.Contains(r.stdout, s.stdout) || s.stdout == "" && r.stdout != "" {
					t.Errorf("mcpc %q: stdout %q, want %q", s.args, r.stdout, s.stdout)
				}
				if !strings.Contains(r.stderr, s.stderr) {
					t.Errorf("mcpc %q: stderr %q, want %q", s.args, r.stderr, s.stderr)
				}
			}
		})
	}
}

// counting puts a proxy before a peer that counts HTTP requests by method.
func counting(t *testing.T, target []string) (string, *atomic.Int64) {
	t.Helper()
	to, err := url.Parse(target[1])
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = to.Scheme, to.Host, to.Host
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		proxy.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	return fmt.Sprintf("http://%s%s", l.Addr(), to.Path), &n
}

// TestPeerRequestsOnTheWire counts the requests of a command. A warm call is one
// request; the 2026-07-28 servers send a ttlMs of 0, so that their lists are read before each call. A cold list
// on a server with a handshake is discover, initialize, initialized, tools/list, and the DELETE that ends a
// session that is not kept.
func TestPeerRequestsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		peer       string
		cold, warm int64
	}{
		{"everything-http", 5, 1},
		{"everything-2026-01-http", 5, 1},
		{"ts-server-http", 2, 2},
		{"pingme-http", 4, 1},
		{"go-sdk-stateless", 4, 4},
		{"go-sdk-http", 7, 4},
	} {
		t.Run(c.peer, func(t *testing.T) {
			t.Parallel()
			m := newRunner(t)
			p := peerNamed(t, c.peer)
			url, n := counting(t, p.shared(t))
			m.want(0, "list", "-s", url)
			if got := n.Swap(0); got > c.cold {
				t.Errorf("a cold list took %d requests, want at most %d", got, c.cold)
			}
			m.want(0, "init", url)
			call := callFor(p)
			m.want(0, append([]string{"call", "--yes"}, call.args...)...)
			n.Store(0)
			m.want(0, append([]string{"call", "--yes"}, call.args...)...)
			if got := n.Load(); got != c.warm {
				t.Errorf("a warm call took %d requests, want %d", got, c.warm)
			}
		})
	}
}
