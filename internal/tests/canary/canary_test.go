package canary

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/connect/host"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
	"mcpc/internal/wire"
)

// canaries are secrets that must not be found anywhere but where they belong. Each is named by its
// position in the traffic.
var canaries = func() map[string]string {
	all := map[string]string{}
	for i, position := range []string{
		"url password", "url query", "bearer", "api key field", "cookie", "proxy field", "own field", "session id", "set-cookie",
		"redirect", "argument", "nested argument", "array", "result member", "json in text", "meta", "error message", "error data",
		"html body", "argv flag", "argv assignment", "environment", "stderr line", "known in prose", "progress",
		"authorization code", "access token", "refresh token", "registered secret", "client secret", "assertion", "id token", "id-jag",
		"device code", "idp secret", "token variable", "token file",
	} {
		all[position] = fmt.Sprintf("cAnArY%02dx7Qz", i)
	}
	// Secrets that mcpc creates begin like this, in base64.
	all["private key"], all["proof"] = "MIGHAgEAMBMGByqGSM49", "eyJhbGciOiJFUzI1NiIsImp3ay"
	return all
}()

// findCanaries reports every canary in a text.
func findCanaries(t *testing.T, where string, text []byte) {
	t.Helper()
	for position, secret := range canaries {
		if at := strings.Index(string(text), secret); at >= 0 {
			t.Errorf("%s holds the secret of %q: ...%s", where, position, text[max(0, at-80):min(len(text), at+40)])
		}
	}
}

// findCanariesIn reports every canary in the files below a folder.
func findCanariesIn(t *testing.T, dir string) (files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		raw, err := os.ReadFile(path)
		findCanaries(t, path, raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// canaryServer answers with secrets in every place that a server has for them.
func canaryServer(t *testing.T, hung chan<- bool) *httptest.Server {
	c := canaries
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		m := wire.ParseMessage(raw)
		params, _ := m.ParamMembers()
		answer := func(body string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, body)
		}
		switch name := params.Text("name"); {
		case m.Kind == wire.Notification || r.Method != http.MethodPost:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", c["session id"])
			w.Header().Set("Set-Cookie", "sid="+c["set-cookie"]+"; HttpOnly")
			own := r.Header.Get("X-Own-Secret")
			answer(`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"experimental":{"` + own + `":{}}},` +
				`"serverInfo":{"name":"n` + own + `","version":"1"},"instructions":"` + own + `"}`)
		case m.Method == "tools/list":
			answer(`"result":{"tools":[{"name":"leak","description":"` + r.Header.Get("X-Own-Secret") + `","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}},` +
				`{"name":"html","inputSchema":{"type":"object"}},{"name":"away","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}}]}`)
		case name == "leak":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1,\"message\":\"token=%s\"}}\n\n", c["progress"])
			fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"{\"clientSecret\":\"%s\"} and %s"}],`+
				`"structuredContent":{"accessToken":"%s","passwords":["x"],"credentials":["%s"]},"_meta":{"x/session-token":"%s"}}}`+"\n\n",
				m.ID, c["json in text"], r.Header.Get("X-Own-Secret"), c["result member"], c["array"], c["meta"])
		case name == "fail":
			answer(`"error":{"code":-32000,"message":"login failed: password=` + c["error message"] + `, session ` + c["session id"] +
				`","data":{"refresh_token":"` + c["error data"] + `"}}`)
		case name == "html":
			w.Header().Set("Content-Type", "text/html; of="+r.Header.Get("X-Own-Secret"))
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, "<html><title>no</title>api_key=%s</html>", c["html body"])
		case name == "away":
			w.Header().Set("Location", "https://u:x@example.com/cb?code="+c["redirect"])
			w.WriteHeader(http.StatusFound)
		case name == "hang":
			hung <- true
			<-r.Context().Done()
		default:
			answer(`"error":{"code":-32601,"message":"no such method"}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// Secrets in every position, every command with all output, the files on the disk afterwards, and a
// process that is killed in the middle of a call: standard output has the answer, and no other
// place has a secret.
func TestNoSecretIsKeptOrShown(t *testing.T) {
	hung := make(chan bool, 1)
	s := canaryServer(t, hung)
	c := canaries
	url := s.URL + "/mcp?access_token=" + c["url query"]
	dir := t.TempDir()
	traffic := filepath.Join(dir, host.TrafficDir)
	home := &clitest.Home{Home: program.Home{T: t, Dir: dir, Env: append(program.CleanEnv(), "MCPC_STATE="+dir, "HOME="+dir, "SOME_TOKEN="+c["environment"])}}
	stderrOf := func(args ...string) {
		t.Helper()
		got := home.MCPC(args...) // most of them fail, each in its own way
		findCanaries(t, "standard error of "+strings.Join(args[:2], " "), []byte(got.Stderr))
	}
	headers := []string{
		"-s", url, "-H", "Authorization: Bearer " + c["bearer"], "-H", "X-Api-Key: " + c["api key field"], "-H", "Cookie: a=" + c["cookie"],
		"-H", "Proxy-Authorization: Basic " + c["proxy field"], "-H", "X-Own-Secret: " + c["own field"],
	}
	arguments := `{"password":"` + c["argument"] + `","deep":{"api_key":"` + c["nested argument"] + `","list":[1]},"note":"` + c["own field"] + `"}`
	for _, loud := range [][]string{{"-vvv"}, {"-vvv", "--explain"}, {"--json"}} {
		for _, what := range [][]string{
			{"call", "leak", arguments},
			{"call", "fail", arguments},
			{"call", "html", arguments},
			{"call", "away", arguments},
			{"call", "nope", arguments},
			{"list"},
			{"raw", "x/y", arguments},
			{"ping"},
		} {
			stderrOf(append(append(append([]string{}, what...), loud...), headers...)...)
		}
		stderrOf(append([]string{"ping", "-s", strings.Replace(s.URL, "://", "://user:"+c["url password"]+"@", 1)}, loud...)...)
		talk := `echo "API_KEY=` + c["stderr line"] + ` SOME_TOKEN is $SOME_TOKEN" >&2; read line; echo "$2 $3 is noise"; exit 3`
		stderrOf(append(append([]string{"list", "tools"}, loud...), "--", "bash", "-c", talk, "x", "--api-key", c["argv flag"], "PASSWORD="+c["argv assignment"])...)
	}
	cmd := exec.Command("mcpc", append([]string{"call", "hang", arguments}, headers...)...)
	cmd.Env = home.Env
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-hung:
	case <-time.After(program.Patience):
		t.Fatalf("the call never came: %s", said.String())
	}
	before := filesIn(t, traffic)
	program.AwaitTrue(t, func() bool { return filesIn(t, traffic) >= before && lastHolds(t, traffic, `"tools/call\"`) })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if n := findCanariesIn(t, dir); n < 28 {
		t.Errorf("only %d files were written", n)
	}
	// Recordings are shown as they were kept, the killed run too.
	for _, args := range [][]string{
		{"log", "--json"},
		{"show", "last"},
		{"show", "1", "--json"},
		{"show", "1", "--raw"},
		{"export", "1", "is:error,probe", "--as", "curl"},
		{"export", "1", "is:error,probe", "--as", "mcpc"},
		{"export", "2", "-method:x", "--as", "har"},
		{"export", "last", "--as", "markdown"},
		{"export", "1", "--as", "jsonl"},
		{"export", "last", "--as", "curl"},
	} {
		got := home.MCPC(args...)
		out := []byte(got.Stdout)
		if got.Code != 0 {
			t.Errorf("%v: %d\n%s", args, got.Code, got.Stderr)
		}
		findCanaries(t, strings.Join(args, " "), out)
		if args[0] == "show" && args[1] == "last" && !strings.Contains(string(out), "tools/call hang") {
			t.Errorf("the killed run is not shown:\n%s", out)
		}
	}
	stderrOf(append([]string{"init"}, headers...)...)
	if text := program.Read(t, filepath.Join(dir, "state.json")); strings.Contains(text, c["own field"]) || !strings.Contains(text, "server_info") {
		t.Errorf("the session is remembered as %s", text)
	}
}

func filesIn(t *testing.T, dir string) int {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// lastHolds reports whether the last recorded run holds a text.
func lastHolds(t *testing.T, dir, text string) bool {
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(names) == 0 {
		return false
	}
	raw, err := os.ReadFile(names[len(names)-1])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(raw), text)
}
