package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/cli"
	"mcpc/internal/client"
	"mcpc/internal/demo"
	"mcpc/internal/wire"
)

// The bytes of definitions and results stay the same, except for the name.
func TestDefinitionsAndResultsKeepTheirBytes(t *testing.T) {
	const definition = `{ "title":"T\u00e9","name":"%s","inputSchema":{"type":"object","properties":{"n":{"maximum":1.000e2}}},"_meta":{"z":12345678901234567890.10,"a":1},"annotations":{"readOnlyHint":true } }`
	const result = `{ "structuredContent":{"n":1.50e1,"z":null,"a":[]},"content":[{"type":"resource_link","uri":"x:\u002fy","name":"r"}],"_meta":{"own":10.0} }`
	url := answering(t, map[string]string{
		"tools/list": `{"result":{"tools":[` + fmt.Sprintf(definition, "t") + `]}}`, "tools/call": `{"result":` + result + `}`,
		"prompts/get": `{"error":{ "data":{"n":1.0},"message":"m\u00e9","code":-32050 }}`, "prompts/list": `{"result":{"prompts":[{"name":"p"}]}}`,
	})
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		u := serve(t, "one="+url).open(revision, "", everything)
		list := u.do("tools/list", `{}`)
		if want := fmt.Sprintf(definition, "one__t"); !strings.Contains(string(list.Message.Raw), want) {
			t.Errorf("%s: %s", revision, list.Message.Raw)
		}
		got := u.do("tools/call", `{"name":"one__t","arguments":{"n":1.0}}`)
		want := result
		if client.Stateless(revision) {
			want = strings.TrimSuffix(result, " }") // resultType is added at the end
		}
		if !strings.Contains(string(got.Message.Raw), want) {
			t.Errorf("%s: %s", revision, got.Message.Raw)
		}
		if e := u.do("prompts/get", `{"name":"one__p"}`).RPCError(); e == nil || string(e.Raw) != `{ "data":{"n":1.0},"message":"m\u00e9","code":-32050 }` {
			t.Errorf("%s: %+v", revision, e)
		}
	}
}

// answering is a server of 2025-06-18 over HTTP whose responses are these, by method.
func answering(t *testing.T, responses map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var raw json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&raw)
		m := wire.ParseMessage(raw)
		response := responses[m.Method]
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case m.Kind != wire.Request:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "initialize":
			response = `{"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}}`
		case response == "":
			response = `{"error":{"code":-32601,"message":"Method not found"}}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s`, m.ID, strings.TrimPrefix(response, "{"))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// One server that is down does not stop the others, its calls fail with the cause, and the client
// is notified when it is back.
func TestAServerThatIsDown(t *testing.T) {
	var up, down http.Handler = demo.Handler(demo.Options{Now: time.Now}), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	now := make(chan http.Handler, 1)
	now <- down
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := <-now
		now <- h
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s := serve(t, "demo=demo", "web="+server.URL)
	u := s.open("2025-11-25", "", `{}`)
	tools := u.tools()
	isOfWeb := func(name string) bool { return strings.HasPrefix(name, "web__") }
	if len(tools) < 2 || slices.IndexFunc(tools, isOfWeb) != len(tools)-1 || tools[len(tools)-1] != "web__status" {
		t.Errorf("%q", tools)
	}
	s.said.match(t, `web is left out: .*503`)
	out := u.do("tools/call", `{"name":"web__echo","arguments":{"message":"x"}}`)
	if out.Kind != wire.ToolError || !strings.Contains(string(out.Result), `the server \"web\": `) || !strings.Contains(string(out.Result), "503") {
		t.Errorf("%s: %s", out.Kind, out.Result)
	}
	if e := u.do("prompts/get", `{"name":"web__simple-prompt"}`).RPCError(); e == nil || e.Code != -32603 ||
		!strings.Contains(e.Message, `the server "web": `) || !strings.Contains(e.Message, "503") {
		t.Errorf("%+v", e)
	}
	<-now
	now <- up
	told := make(chan bool)
	go func() {
		u.note("notifications/tools/list_changed")
		close(told)
	}()
	for waiting := true; waiting; { // each request tries again, once it is time
		u.do("ping", `{}`)
		u.do("prompts/list", `{}`)
		select {
		case <-told:
			waiting = false
		default:
		}
	}
	if got := u.call("web__echo", `{"message":"back"}`); !strings.Contains(got, "back") {
		t.Error(got)
	}
	if text := s.said.String(); strings.Count(text, "web is left out") != 1 {
		t.Error(text)
	}
}

// A tool that is denied is neither listed nor called; a pattern without a match is reported.
func TestAllowAndDeny(t *testing.T) {
	s := serve(t, "demo=demo", "two=demo", "--allow", "demo/get-*", "--allow", "two/echo", "--deny", "*/GET-env", "--deny", "two/nothing*")
	u := s.open("2026-07-28", "", `{}`)
	for _, name := range u.tools() {
		if !strings.HasPrefix(name, "demo__get-") && name != "two__echo" || name == "demo__get-env" {
			t.Errorf("%s is listed", name)
		}
	}
	for name, denied := range map[string]bool{"demo__get-env": true, "two__get-sum": true, "demo__echo": true, "two__echo": false, "demo__get-sum": false} {
		got := u.call(name, `{"message":"x","a":1,"b":2}`)
		if strings.Contains(got, "is not served") != denied {
			t.Errorf("%s: %s", name, got)
		}
	}
	if e := u.do("tools/call", `{"name":"two__echo","Name":"get-env"}`).RPCError(); e == nil || !strings.Contains(e.Message, "Name beside name") {
		t.Errorf("%+v", e)
	}
	s.said.match(t, `--deny two/nothing\* matches no tool`)
	if text := s.said.String(); strings.Contains(text, "GET-env matches") {
		t.Error(text)
	}
}

// Without prefixes, as for a single server without NAME=, a name is the server's, and a name that two servers have is an error of the
// list.
func TestNamesWithoutPrefixes(t *testing.T) {
	for _, args := range [][]string{{"demo"}, {"demo=demo", "--no-prefix"}} {
		u := serve(t, args...).open("2025-06-18", "", `{}`)
		if got := u.call("get-sum", `{"a":1,"b":2}`); !strings.Contains(got, "is 3") {
			t.Errorf("%q: %s", args, got)
		}
	}
	u := serve(t, "demo=demo", "two=demo", "--no-prefix").open("2025-06-18", "", `{}`)
	if out := u.do("tools/list", `{}`); out.RPCError() == nil || !strings.Contains(out.Text, "demo and two both list the tool") {
		t.Errorf("%s", out.Text)
	}
}

// Each way to call it wrongly ends with exit code 2, before anything is served.
func TestUsage(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("a b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"serve needs a server": {}, `no server is named "nowhere"`: {"nowhere"}, "two servers are named": {"demo", "demo"},
		"--all cannot be combined": {"--all", "demo"}, "--client-token-file needs --http": {"demo", "--client-token-file", token},
		"not a token": {"demo", "--http", "0", "--client-token-file", token}, "sent to every server": {"demo", "x=demo", "-H", "A: b"}, "takes servers as arguments": {"-s", "demo"},
		` serve demo\n`: {"-s", "demo", "--no-prefix"},
		"goes after --": {"node x.mjs"}, "command goes after --": {"a=python x.py"}, "serve -- COMMAND": {"-s", "node x.mjs"},
		"is served alone": {"demo", "--", "node", "x.mjs"}, "no command after --": {"--"}, "--watch restarts a server's command": {"demo", "--watch", "*.go"}, "--build is for a server that is restarted": {"--build", "make", "--", "x"}, "--host h.example: a login returns to this machine only": {"http://h.example/", "--host", "h.example"},
		"the variable NO_SUCH in a header field is not set": {"demo", "-H", "A:${NO_SUCH}"}, "70000 is not a port": {"demo", "--callback-port", "70000"},
		`serve -- COMMAND...\n`: {"./nowhere.mjs"},
	} {
		s := serve(t, args...)
		s.said.match(t, want)
		if code := s.ends(); code != 2 {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
	s := serve(t, "demo=demo", "--http", "192.0.2.1:0")
	s.said.match(t, "must be loopback")
	if code := s.ends(); code != 12 {
		t.Errorf("exit code %d", code)
	}
}

// Over HTTP the token is demanded.
func TestClientToken(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret-token-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := serve(t, "demo=demo", "--http", "127.0.0.1:0", "--client-token-file", token).said.match(t, `listening on (\S+);`)[1]
	for given, want := range map[string]int{"": 401, "Bearer secret-token-2": 401, "secret-token-1": 401, "Bearer secret-token-1": 200, "bearer secret-token-1": 200} {
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {given}}
		got, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if asks := got.Header.Get("WWW-Authenticate"); got.StatusCode != want || (asks == "Bearer") != (want == 401) {
			t.Errorf("%q: %d, want %d; WWW-Authenticate %q", given, got.StatusCode, want, asks)
		}
	}
}

// The gateway's own errors have the codes of the client's revision.
func TestErrors(t *testing.T) {
	for revision, missing := range map[string]int64{"2025-11-25": -32002, "2026-07-28": -32602} {
		u := serve(t, "demo=demo", "two=demo").open(revision, "", `{}`)
		level := `{"level":"loud"}`
		if client.Stateless(revision) {
			level = `{"_meta":{"io.modelcontextprotocol/logLevel":"loud"}}`
		}
		for request, want := range map[string]int64{
			"tools/call " + `{"name":"demo__none"}`: -32602, "prompts/get " + `{"name":"demo__none"}`: -32602, "resources/read " + `{"uri":"none:x"}`: missing,
			"tools/list " + `{"cursor":"x"}`: -32602, "none/none {}": -32601, map[bool]string{false: "logging/setLevel ", true: "tools/list "}[client.Stateless(revision)] + level: -32602,
		} {
			method, params, _ := strings.Cut(request, " ")
			if e := u.do(method, params).RPCError(); e == nil || e.Code != want {
				t.Errorf("%s, %s: %+v, want %d", revision, request, e, want)
			}
		}
		if e := u.do("resources/read", `{"uri":"none:x"}`).RPCError(); !strings.HasSuffix(e.Message, "it may belong to demo, two") {
			t.Errorf("%+v", e)
		}
	}
}

// Completions go to the server of the prompt or the template.
func TestCompletion(t *testing.T) {
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		u := serve(t, "demo=demo", "two=demo").open(revision, "", `{}`)
		for _, ref := range []string{`{"type":"ref/prompt","name":"two__completable-prompt"},"argument":{"name":"department","value":"E"}`, `{"type":"ref/resource","uri":"demo://resource/dynamic/text/{resourceId}"},"argument":{"name":"resourceId","value":"1"}`} {
			if out := u.do("completion/complete", `{"ref":`+ref+`}`); !out.OK() || !strings.Contains(string(out.Result), `"values":["`) {
				t.Errorf("%s: %s %s %s", revision, ref, out.Text, out.Result)
			}
		}
	}
}

// Of entries with one name the first is served, however many there are, and this is reported once.
func TestFirstOfDuplicateNamesIsServed(t *testing.T) {
	tools := strings.Repeat(`{"name":"t","inputSchema":{"type":"object"},"description":"other"},{"name":7},`, 20000)
	url := answering(t, map[string]string{
		"tools/list":   `{"result":{"tools":[{"name":"t","inputSchema":{"type":"object"},"description":"first"},` + strings.TrimSuffix(tools, ",") + `]}}`,
		"prompts/list": `{"result":{"prompts":[` + strings.TrimSuffix(strings.Repeat(`{"name":"p"},`, 20000), ",") + `]}}`,
	})
	s := serve(t, "one="+url)
	u := s.open("2025-06-18", "", `{}`)
	list := u.do("tools/list", `{}`)
	if got := string(list.Result); strings.Count(got, `"one__t`) != 1 || !strings.Contains(got, "first") || strings.Contains(got, "other") {
		t.Errorf("%.300s", got)
	}
	if got := u.names("prompts/list", "prompts", "name"); len(got) != 1 || got[0] != "one__p" {
		t.Errorf("%.300q", got)
	}
	s.said.match(t, "one lists the prompt p more than once")
	if text := s.said.String(); strings.Count(text, "one lists the tool t more than once") != 1 || strings.Count(text, "is left out") != 1 {
		t.Errorf("%.600s", text)
	}
}

// An mcpc serve that another mcpc serve started ends at once: each could start the next, without an
// end.
func TestServeStartedByServeEnds(t *testing.T) {
	text := ""
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	errs, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	f := cli.New(null, null, errs)
	env := map[string]string{"HOME": t.TempDir(), "MCPC_SERVING": "1"}
	f.Getenv, f.Environ, f.Now, f.Version = func(name string) string { return env[name] }, func() []string { return nil }, time.Now, "1.2.3"
	code, _ := cli.Run(f, []string{"serve", "demo"}, nil)
	if raw, err := os.ReadFile(errs.Name()); err == nil {
		text = string(raw)
	}
	if code != 2 || !strings.Contains(text, "started by another mcpc serve") {
		t.Errorf("exit code %d: %s", code, text)
	}
}
