//go:build peers

package peers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/tests/program"
)

// Hosts that start mcpc serve for a server that requires a login: the TypeScript SDK's client in
// testdata/host.cjs, the Inspector and the OpenAI Agents SDK. The server is ts-auth, whose page
// testdata/visit.cjs opens: a browser would take seconds.

// A hostLine is a line that testdata/host.cjs writes: the result of a step, or a message of the server.
type hostLine struct{ Kind, Text string }

// A loginHost is a process of testdata/host.cjs.
type loginHost struct {
	t        *testing.T
	cmd      *exec.Cmd
	in       io.WriteCloser
	stderr   bytes.Buffer
	lines    chan hostLine
	received []hostLine // the lines that no await has returned
}

// newHostUser returns a visitor with testdata/visit.cjs as the browser.
func newHostUser(t *testing.T, target string) visitor {
	t.Helper()
	v := newVisitor(t, target)
	script, err := filepath.Abs(filepath.Join("testdata", "visit.cjs"))
	if err != nil {
		t.Fatal(err)
	}
	v.browser = wrapper(t, t.TempDir(), "visit", "exec "+shellWords(append(nodeArgv(t), script, v.log))+` "$1"`)
	v.env = append(v.env, "BROWSER="+v.browser)
	return v
}

// startHost starts a host that starts mcpc serve with the arguments. The action is its answer to a
// request to open a page, or none if it declares that it opens none.
func (v visitor) startHost(action string, serve ...string) *loginHost {
	v.t.Helper()
	script, err := filepath.Abs(filepath.Join("testdata", "host.cjs"))
	if err != nil {
		v.t.Fatal(err)
	}
	packages := filepath.Join(peersDir(v.t), "ts-clients", "package.json")
	argv := append(nodeArgv(v.t), script, packages, action, "mcpc", "serve", "--login-wait", "120")
	argv = append(argv, serve...)
	h := &loginHost{t: v.t, cmd: exec.Command(argv[0], argv[1:]...), lines: make(chan hostLine)}
	h.cmd.Env = v.environment()
	h.cmd.Stderr = &h.stderr
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		v.t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() {
		_ = h.cmd.Process.Kill()
		for range h.lines {
		}
		_ = h.cmd.Wait()
	})
	go h.read(out)
	return h
}

// read sends the lines of the host to h.lines until the host ends.
func (h *loginHost) read(out io.Reader) {
	defer close(h.lines)
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		var line hostLine
		if json.Unmarshal(scanner.Bytes(), &line) == nil {
			h.lines <- line
		}
	}
}

// await returns the text of the next line of a kind.
func (h *loginHost) await(kind string) string {
	h.t.Helper()
	timeout := time.After(program.Patience)
	for {
		if i := slices.IndexFunc(h.received, func(l hostLine) bool { return l.Kind == kind }); i >= 0 {
			text := h.received[i].Text
			h.received = slices.Delete(h.received, i, i+1)
			return text
		}
		select {
		case line, ok := <-h.lines:
			if !ok {
				h.t.Fatalf("the host ended before %s: received %v\n%s", kind, h.received, h.stderr.String())
			}
			h.received = append(h.received, line)
		case <-timeout:
			h.t.Fatalf("no %s: received %v", kind, h.received)
		}
	}
}

// begin writes a step to the host.
func (h *loginHost) begin(step string) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, step+"\n"); err != nil {
		h.t.Fatal(err)
	}
}

// does writes a step to the host and returns its result.
func (h *loginHost) does(step string) string {
	h.t.Helper()
	h.begin(step)
	kind, _, _ := strings.Cut(step, " ")
	return h.await(kind)
}

// lists checks the names of the tools that the host lists.
func (h *loginHost) lists(want string) {
	h.t.Helper()
	if got := h.does("list"); got != want {
		h.t.Errorf("the host lists %q, want %q", got, want)
	}
}

// loginTool returns the name of the tool in place of the tools of a server until the user has logged in.
func loginTool(target string) string {
	u, _ := url.Parse(target)
	return strings.NewReplacer(".", "_", ":", "_").Replace(u.Host) + "__login"
}

// logins checks how often a browser has logged in. It waits until the last
// one has reported its page.
func (v visitor) logins(want int) {
	v.t.Helper()
	count := func() int {
		seen, _ := os.ReadFile(v.log)
		return strings.Count(string(seen), "/callback: 200\n")
	}
	program.AwaitTrue(v.t, func() bool { return count() >= want })
	if got := count(); got != want {
		v.t.Errorf("%d logins in a browser, want %d", got, want)
	}
}

// opens logs in at a page, as the user does.
func (v visitor) opens(address string) {
	v.t.Helper()
	cmd := exec.Command("sh", "-c", v.browser+` "$1"`, "sh", address)
	cmd.Env = v.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		v.t.Fatalf("the browser: %v\n%s", err, out)
	}
}

// withBrowser changes the browser that mcpc opens into one that writes the address to a file and logs in
// nowhere. It returns the file.
func (v *visitor) withBrowser(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	opened := filepath.Join(dir, "opened")
	v.env = append(v.env, "BROWSER="+wrapper(t, dir, "idle-browser", `echo "$1" >>`+shellWords([]string{opened})))
	return opened
}

// noBrowser fails the test if mcpc has opened the browser of withBrowser.
func noBrowser(t *testing.T, opened string) {
	t.Helper()
	if addresses, err := os.ReadFile(opened); err == nil {
		t.Errorf("a browser was opened: %s", addresses)
	}
}

func TestPeerServeLogsIn(t *testing.T) {
	t.Parallel()
	target := peerNamed(t, "ts-auth").start(t)[1]
	run := func(name string, test func(t *testing.T, v visitor)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newHostUser(t, target))
		})
	}
	run("a host that opens no pages", func(_ *testing.T, v visitor) {
		v.startHost("none", target).lists("echo")
		v.logins(1)
		v.startHost("none", target).lists("echo") // the token is stored
		v.logins(1)
	})
	run("a host that opens pages", func(t *testing.T, v visitor) {
		opened := v.withBrowser(t)
		h := v.startHost("accept", target)
		h.begin("list")
		v.opens(h.await("elicitation/create"))
		if got := h.await("list"); got != "echo" {
			t.Errorf("the host lists %q", got)
		}
		h.await("notifications/elicitation/complete")
		noBrowser(t, opened)
	})
	run("no browser", func(t *testing.T, v visitor) {
		opened := v.withBrowser(t)
		h := v.startHost("none", target, "--no-browser")
		h.lists(loginTool(target))
		v.opens(h.loginPage(target, ""))
		h.await("notifications/tools/list_changed")
		h.lists("echo")
		noBrowser(t, opened)
	})
	run("declined", func(t *testing.T, v visitor) {
		opened := v.withBrowser(t)
		h := v.startHost("decline", target)
		h.lists(loginTool(target))
		h.await("elicitation/create")
		h.begin("accept")
		h.does("call " + loginTool(target))
		v.opens(h.await("elicitation/create"))
		h.await("notifications/tools/list_changed")
		h.lists("echo")
		noBrowser(t, opened)
	})
	run("the host is killed while the login waits", func(t *testing.T, v visitor) {
		opened := v.withBrowser(t)
		h := v.startHost("none", target)
		h.begin("list")
		program.AwaitFile(t, opened, "http")
		page, err := url.Parse(strings.TrimSpace(program.Read(t, opened)))
		if err != nil {
			t.Fatal(err)
		}
		_ = h.cmd.Process.Kill()
		if left := program.ProcessesLeft(t, "MCPC_STATE="+v.state); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		redirect, err := url.Parse(page.Query().Get("redirect_uri"))
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp", redirect.Host)
		if err != nil {
			t.Fatalf("the port of %s is in use: %v", redirect, err)
		}
		listener.Close()
		v.startHost("none", target).begin("list") // the page of the first host leads nowhere
		program.AwaitTrue(t, func() bool { return strings.Count(program.Read(t, opened), "http://127.0.0.1:") == 2 })
	})
	run("two hosts at once", func(_ *testing.T, v visitor) {
		first, second := v.startHost("none", target), v.startHost("none", target)
		first.begin("list")
		second.begin("list")
		for _, h := range []*loginHost{first, second} {
			if got := h.await("list"); got != "echo" {
				h.t.Errorf("a host lists %q", got)
			}
		}
		v.logins(1)
	})
	run("the Inspector", func(t *testing.T, v visitor) {
		// The Inspector passes only a few variables to a server.
		argv := append(nodeArgv(t), filepath.Join(peersDir(t), "inspector", "session.mjs"), "stdio", "env")
		argv = append(append(argv, v.env...), "MCPC_STATE="+v.state, "mcpc", "serve", target, "--login-wait", "120")
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(v.environment(), "METHOD=tools/list")
		out, err := cmd.CombinedOutput()
		if err != nil || !regexp.MustCompile(`"name": *"echo"`).Match(out) {
			t.Errorf("%v\n%s", err, out)
		}
		v.logins(1)
	})
	run("the OpenAI Agents SDK", func(t *testing.T, v visitor) {
		argv := append(nodeArgv(t), filepath.Join(peersDir(t), "agents", "openai.mjs"), "sdk", "stdio")
		argv = append(argv, "mcpc", "serve", target, "--login-wait", "120")
		a := runAgent(t, v.environment(), argv)
		a.next()
		a.next()
		if !slices.Equal(a.turn.Tools, []string{"echo"}) {
			t.Errorf("the agent has the tools %q\n%s", a.turn.Tools, a.err.String())
		}
		v.logins(1)
		a.end()
	})
}

// loginPage calls the login tool until it returns another page than before, and returns that.
func (h *loginHost) loginPage(target, before string) string {
	h.t.Helper()
	page := ""
	program.AwaitTrue(h.t, func() bool {
		page = regexp.MustCompile(`http\S+|$`).FindString(h.does("call " + loginTool(target)))
		return page != "" && page != before
	})
	return page
}

// changeServer changes what ts-auth does.
func changeServer(t *testing.T, target, change string) {
	t.Helper()
	// Node closes a connection that was idle for 5 s, perhaps while a request is on its way.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post(strings.TrimSuffix(target, "/mcp")+"/control", "application/json", strings.NewReader(change))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// A response in the browser that is from another server, or a refusal, ends the login. The next call of
// the login tool starts another one.
func TestPeerServeLoginFails(t *testing.T) {
	t.Parallel()
	target := peerNamed(t, "ts-auth").start(t)[1]
	v := newHostUser(t, target)
	opened := v.withBrowser(t)
	h := v.startHost("none", target, "--no-browser")
	h.lists(loginTool(target))

	changeServer(t, target, `{"iss":"https://honest.example/"}`)
	page := h.loginPage(target, "")
	v.opens(page)
	changeServer(t, target, `{}`)

	page = h.loginPage(target, page)
	u, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	refusal := url.Values{"error": {"access_denied"}, "state": {u.Query().Get("state")}}
	resp, err := http.Get(u.Query().Get("redirect_uri") + "?" + refusal.Encode())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	h.lists(loginTool(target))
	v.opens(h.loginPage(target, page))
	h.await("notifications/tools/list_changed")
	h.lists("echo")
	noBrowser(t, opened)
}

// The access token expires while a host is connected, then the refresh token, too, then a call
// requires another scope.
func TestPeerServeRefreshes(t *testing.T) {
	t.Parallel()
	target := peerNamed(t, "ts-auth").start(t)[1]
	forget := func(tokens string) { changeServer(t, target, `{"forget":"`+tokens+`"}`) }
	v := newHostUser(t, target)
	h := v.startHost("none", target)
	h.lists("echo")
	v.logins(1)
	forget("access")
	h.lists("echo")
	v.logins(1)
	forget("all")
	h.lists("echo")
	v.logins(2)
	if got := h.does("call echo"); got != "Echo: hi" {
		t.Errorf("the call returned %q", got)
	}
	v.logins(3)
	forget("access")
	if got := h.does("call echo"); got != "Echo: hi" {
		t.Errorf("the call returned %q", got)
	}
	v.logins(3)
}
