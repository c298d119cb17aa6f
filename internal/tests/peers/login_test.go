//go:build peers

package peers

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/client/auth"
	"mcpc/internal/connect/host"
	"mcpc/internal/shellwords"
	"mcpc/internal/tests/program"
)

// Logging in with a real browser without a window, at the built-in demo server and at
// servers whose authorization is the TypeScript SDK's, with nothing but commands.
// With -transcripts FILE what was typed and seen is appended to FILE.

var transcripts = flag.String("transcripts", "", "append what the logins looked like to a file")

// A desk is a protected server and the changes that a test can make to it.
type desk struct {
	target string
	// change makes the server do otherwise from now on, see the words below.
	change func(v visitor, what string)
	device bool
}

// The changes to a desk.
const (
	asUsual      = "as usual"
	revokeAccess = "access tokens are revoked"
	revokeAll    = "all tokens are revoked"
	otherServer  = "another authorization server is named"
	wrongIssuer  = "the metadata are another issuer's"
	wrongAnswer  = "the answer in the browser is another issuer's"
)

// A visitor is a person at one desk: mcpc, a browser, and what was seen.
type visitor struct {
	runner
	browser string // what $BROWSER is
	log     string // what the browser showed
	told    *strings.Builder
	shown   *strings.Replacer
}

func newVisitor(t *testing.T, target string) visitor {
	t.Helper()
	dir := t.TempDir()
	v := visitor{runner: newRunner(t), browser: "visitor-browser", log: filepath.Join(dir, "browser.log"), told: &strings.Builder{}}
	script := filepath.Join(peersDir(t), "ts-auth", "browser.mjs")
	wrapper(t, dir, v.browser, "exec node "+shellWords([]string{script, v.log})+` "$@"`) // $BROWSER is split at blanks
	v.env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "CHROMIUM=" + program.MustHave(t, "chromium"), "BROWSER=" + v.browser, "DBUS_SESSION_BUS_ADDRESS=", "XDG_RUNTIME_DIR=", "CI=", "MCPC_TOKEN="}
	v.shown = strings.NewReplacer(v.state, "STATE")
	fmt.Fprintf(v.told, "## %s, %s\n", t.Name(), target)
	t.Cleanup(v.write)
	return v
}

func (v visitor) write() {
	if *transcripts == "" {
		return
	}
	f, err := os.OpenFile(*transcripts, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(v.told.String() + "\n")
		f.Close()
	}
	if err != nil {
		v.t.Error(err)
	}
}

func (v visitor) chapter(title string) { fmt.Fprintf(v.told, "\n### %s\n\n", title) }

func (v visitor) remark(text string) { fmt.Fprintf(v.told, "(%s)\n\n", text) }

// tell writes one command to the page, with the browser's output in the meantime.
func (v visitor) tell(args []string, r ran) {
	words := make([]string, len(args))
	for i, word := range args {
		words[i] = shellwords.Quote(word)
	}
	fmt.Fprintf(v.told, "```console\n$ mcpc %s\n%s%s", strings.Join(words, " "), v.shown.Replace(r.stdout), v.shown.Replace(r.stderr))
	if seen := v.saw(); seen != "" {
		fmt.Fprintf(v.told, "(the browser)  %s\n", strings.ReplaceAll(strings.TrimSpace(seen), "\n", "\n(the browser)  "))
	}
	fmt.Fprintf(v.told, "$ echo $?\n%d\n```\n\n", r.code)
}

// saw is what the browser showed since it was asked last.
func (v visitor) saw() string {
	seen, err := os.ReadFile(v.log)
	if err != nil {
		return ""
	}
	_ = os.Remove(v.log)
	return string(seen)
}

// does runs a command, which must end with the code and say all the texts.
func (v visitor) does(code int, texts []string, args ...string) ran {
	v.t.Helper()
	r := v.run(args...)
	v.finds(code, texts, args, r)
	return r
}

func (v visitor) finds(code int, texts []string, args []string, r ran) {
	v.t.Helper()
	v.awaitBrowser(args, r)
	seen, _ := os.ReadFile(v.log)
	v.tell(args, r)
	if r.code != code {
		v.t.Fatalf("mcpc %q: exit %d, want %d\n%s%s%s", args, r.code, code, r.stdout, r.stderr, seen)
	}
	for _, text := range texts {
		if !strings.Contains(r.stdout+r.stderr+string(seen), text) {
			v.t.Errorf("mcpc %q: %q is not in\n%s%s%s", args, text, r.stdout, r.stderr, seen)
		}
	}
}

// awaitBrowser waits until the browser has reported its last page: mcpc does not wait for that.
func (v visitor) awaitBrowser(args []string, r ran) {
	v.t.Helper()
	if !strings.Contains(r.stderr, "log in here: ") {
		return
	}
	program.AwaitTrue(v.t, func() bool {
		seen, _ := os.ReadFile(v.log)
		return strings.Contains(string(seen), "/callback: ")
	})
}

// pastes logs in with the browser on another machine.
func (v visitor) pastes(target string) {
	v.t.Helper()
	args := []string{"login", target, "--no-browser"}
	cmd := exec.Command("mcpc", args...)
	cmd.Env = v.environment()
	in, err := cmd.StdinPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	lines := bufio.NewScanner(io.TeeReader(said, &stderr))
	lines.Buffer(nil, 1<<20)
	address, shown := regexp.MustCompile(`in any browser: (\S+)`), []string(nil)
	for lines.Scan() {
		if shown == nil {
			shown = address.FindStringSubmatch(lines.Text())
		}
		if shown == nil || !strings.Contains(lines.Text(), "then paste the URL") {
			continue
		}
		browser := exec.Command("sh", "-c", v.browser+` --elsewhere "$1"`, "sh", shown[1])
		browser.Env = v.environment()
		ends, err := browser.Output()
		if err != nil {
			v.t.Errorf("the browser: %v", err)
		}
		fmt.Fprintf(&stderr, "(pasted)  %s", ends)
		_, _ = in.Write(ends)
	}
	_ = cmd.Wait()
	v.finds(0, []string{"scopes\tmcp:", "leads nowhere there"}, args, ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()})
}

// walk is all that happens between a person and a protected server.
func (v visitor) walk(c desk) {
	list, call := []string{"-s", c.target, "list", "--jq", "[.tools[].name]|length"}, []string{"-s", c.target, "call", "echo", `{"message":"hi"}`}

	v.chapter("Login in the browser")
	v.does(4, []string{"HTTP 401", "hint: mcpc login"}, list...)
	v.does(0, []string{"scopes\tmcp:read\n", "/callback: Login received by mcpc"}, "login")
	v.does(0, nil, list...)

	v.chapter("Step-up")
	v.does(4, []string{"HTTP 403", "more scopes are required: mcp:call"}, call...)
	v.does(0, []string{"scopes\tmcp:read mcp:call\n"}, "login")
	v.does(0, []string{"Echo: hi\n"}, call...)
	v.does(0, []string{"refreshed automatically\tfile"}, "auth")

	v.chapter("Refresh: the access token is taken back, and nobody notices")
	c.change(v, revokeAccess)
	v.remark(revokeAccess)
	v.does(0, []string{"Echo: hi\n", "/token returned HTTP 200"}, append(call, "-v")...)
	v.does(0, []string{"Echo: hi\n"}, call...)

	v.chapter("Revoked: the refresh token, too")
	c.change(v, revokeAll)
	v.remark(revokeAll)
	v.does(4, []string{"HTTP 401", "hint: mcpc login"}, call...)
	v.does(0, []string{"/callback: Login received by mcpc"}, "login", c.target, "--scope", "mcp:read mcp:call")
	v.does(0, []string{"Echo: hi\n"}, call...)

	v.chapter("Another authorization server")
	before := v.kept()
	c.change(v, otherServer)
	v.remark(otherServer)
	v.does(4, []string{"hint: mcpc login"}, call...)
	v.does(0, []string{"/callback: Login received by mcpc"}, "login", c.target, "--scope", "mcp:read mcp:call")
	v.does(0, []string{"Echo: hi\n"}, call...)
	if after := v.kept(); before.Issuer == after.Issuer || before.Client == after.Client {
		v.t.Errorf("before %+v, after %+v", before, after)
	}
	v.does(0, []string{"and revoked at "}, "logout", c.target)

	v.chapter("Wrong issuers")
	c.change(v, wrongIssuer)
	v.remark(wrongIssuer)
	v.does(4, []string{"the authorization server metadata has another issuer"}, "login", c.target)
	v.does(1, []string{"fail  \"issuer\" is identical"}, "auth", "explain", c.target)
	c.change(v, wrongAnswer)
	v.remark(wrongAnswer)
	v.does(4, []string{"the browser's response is not from "}, "login", c.target)
	c.change(v, asUsual)

	v.chapter("The browser is on another machine")
	v.pastes(c.target)
	v.does(0, nil, list...)
	if c.device {
		v.chapter("A code that is typed elsewhere")
		v.does(0, []string{"DEMO-CODE", "scopes\tmcp:read mcp:call\n"}, "login", c.target, "--grant", "device", "--scope", "mcp:read mcp:call")
		v.does(0, []string{"Echo: hi\n"}, call...)
	}

	v.chapter("Logout")
	v.does(0, []string{"and revoked at "}, "logout", c.target)
	v.does(4, []string{"hint: mcpc login"}, list...)
	v.does(0, []string{"no tokens are stored"}, "auth")
}

// kept is the one token that there is.
func (v visitor) kept() auth.Token {
	v.t.Helper()
	var b auth.Records
	mustUnmarshal(v.t, program.Read(v.t, filepath.Join(v.state, host.TokensName)), &b)
	if len(b.Tokens) != 1 {
		v.t.Fatalf("kept %+v", b.Tokens)
	}
	return b.Tokens[0]
}

func TestPeerLoginTypeScript(t *testing.T) {
	t.Parallel()
	target := peerNamed(t, "ts-auth").start(t)[1]
	control := strings.TrimSuffix(target, "/mcp") + "/control"
	newVisitor(t, target).walk(desk{target: target, change: func(_ visitor, what string) {
		body := map[string]string{
			asUsual: `{}`, revokeAccess: `{"forget":"access"}`, revokeAll: `{"forget":"all"}`, otherServer: `{"server":1}`,
			wrongIssuer: `{"issuer":"https://honest.example/"}`, wrongAnswer: `{"iss":"https://honest.example/"}`,
		}[what]
		// Node closes a connection that was idle for 5 s, perhaps while a request is on its way.
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Post(control, "application/json", strings.NewReader(body))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v", what, resp, err)
		}
		resp.Body.Close()
	}})
}

// The SDK's example as it comes: no consent page, no refresh tokens, and no revocation
// endpoint.
func TestPeerLoginTypeScriptExample(t *testing.T) {
	t.Parallel()
	target := peerNamed(t, "ts-example-auth").start(t)[1]
	v := newVisitor(t, target)
	call := []string{"-s", target, "call", "greet", `{"name":"you"}`}
	v.chapter("Login in the browser")
	v.does(4, []string{"HTTP 401", "hint: mcpc login"}, call...)
	v.does(0, []string{"scopes\tmcp:tools\n", "/callback: Login received by mcpc"}, "login")
	v.does(0, []string{"Hello, you!"}, call...)
	v.does(0, nil, "init", target, "--as", "sdk")
	v.does(0, []string{"Hello, you!"}, "-s", "sdk", "call", "greet", `{"name":"you"}`)
	v.does(0, nil, "close", "sdk")
	v.chapter("Logout")
	v.does(0, []string{"has no revocation endpoint"}, "logout", target)
	v.does(4, nil, call...)
	v.chapter("The browser is on another machine")
	v.pastes(target)
	v.does(0, []string{"Hello, you!"}, call...)
}

func TestPeerLoginDemo(t *testing.T) {
	t.Parallel()
	c := newDemoDesk(t)
	newVisitor(t, c.target).walk(c)
}

// A gate is a server in front of two processes of mcpc demo --auth: it names one process as the
// authorization server, and passes on to that.
type gate struct {
	demos [2]string
	mu    sync.Mutex
	now   int
	what  string
}

func newDemoDesk(t *testing.T) desk {
	t.Helper()
	g := &gate{demos: [2]string{startProtectedDemo(t), startProtectedDemo(t)}}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	return desk{target: server.URL + "/mcp", device: true, change: g.change}
}

func startProtectedDemo(t *testing.T) (url string) {
	t.Helper()
	port := program.FreePort(t)
	peer{name: "demo"}.listen(t, []string{"mcpc", "demo", "--listen", "127.0.0.1:" + port, "--auth"}, port)
	return "http://127.0.0.1:" + port
}

func (g *gate) change(v visitor, what string) {
	v.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	revoked := []auth.Secret{}
	switch what {
	case otherServer:
		g.now = 1
	case revokeAccess:
		revoked = []auth.Secret{v.kept().Access}
	case revokeAll:
		revoked = []auth.Secret{v.kept().Access, v.kept().Refresh}
	default:
		g.what = what
	}
	for _, token := range revoked {
		resp, err := http.PostForm(g.demos[g.now]+"/revoke", url.Values{"token": {strings.TrimPrefix(string(token), "plain:")}})
		if err != nil || resp.StatusCode != http.StatusOK {
			v.t.Fatalf("%v, %v", resp, err)
		}
		resp.Body.Close()
	}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	g.mu.Lock()
	named, what := g.demos[g.now], g.what
	g.mu.Unlock()
	to, _ := url.Parse(named)
	own := "http://" + req.Host
	if req.URL.Path == "/.well-known/oauth-protected-resource/mcp" {
		if what == wrongIssuer || what == wrongAnswer {
			named = own
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"resource":"%s/mcp","authorization_servers":["%s"],"scopes_supported":["mcp:read","mcp:call"]}`, own, named)
		return
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1}
	proxy.Rewrite = func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		if what != wrongIssuer || !strings.HasPrefix(req.URL.Path, "/.well-known/") {
			r.Out.Host = r.In.Host
		}
	}
	proxy.ModifyResponse = func(resp *http.Response) error {
		if where, err := resp.Location(); err == nil && what == wrongAnswer {
			q := where.Query()
			q.Set("iss", "https://honest.example")
			where.RawQuery = q.Encode()
			resp.Header.Set("Location", where.String())
		}
		return nil
	}
	proxy.ServeHTTP(w, req)
}
