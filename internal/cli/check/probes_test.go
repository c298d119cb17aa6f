package check_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpc/internal/demo"
	"mcpc/internal/lint"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/planted"
	"mcpc/internal/wire"
)

// An override answers the requests whose text has all words of one list, and no word of another:
// the method, the path, a line for each header field, and the body. In the body of the answer, $ID
// is the id of the request and $BASE the origin of the server; an event stream is not needed for
// it.
type override struct {
	when, unless []string
	after        int // how often something else comes first
	status       int
	body         string
}

func reply(result string, when ...string) override {
	return override{when: when, status: 200, body: `{"jsonrpc":"2.0","id":$ID,"result":` + result + `}`}
}

func refusal(status, code int, data string, when ...string) override {
	return override{when: when, status: status, body: fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"error":{"code":%d,"message":"no"%s}}`, code, data)}
}

// document is an answer to a GET of a path.
func document(path, body string) override {
	return override{when: []string{"GET\n", "Path: " + path + "\n"}, status: 200, body: body}
}

func (o override) without(words ...string) override { o.unless = words; return o }

func (o override) later(n int) override { o.after = n; return o }

func (o override) fits(text string) bool {
	for _, word := range o.when {
		if !strings.Contains(text, word) {
			return false
		}
	}
	for _, word := range o.unless {
		if strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// overridden is a server with other answers to some requests.
func overridden(t *testing.T, inner http.Handler, overrides []override) http.Handler {
	t.Helper()
	seen := make([]atomic.Int64, len(overrides))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := r.Method + "\nPath: " + r.URL.Path + "\n"
		for name, values := range r.Header {
			text += name + ": " + strings.Join(values, ", ") + "\n"
		}
		text += string(body)
		for i, o := range overrides {
			if !o.fits(text) || seen[i].Add(1) <= int64(o.after) {
				continue
			}
			id := string(wire.ParseMessage(body).ID)
			if id == "" {
				id = "null"
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(o.status)
			_, _ = io.WriteString(w, strings.NewReplacer("$ID", id, "$BASE", "http://"+r.Host).Replace(o.body))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	})
}

// started is the URL of a server on this machine.
func started(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// The servers that are overridden, by the first word of the flags of a case; any other is the demo.
var probedServers = map[string]func() http.Handler{
	"tasks":     func() http.Handler { return demo.Handler(demo.Options{Tasks: true, Now: time.Now}) },
	"protected": func() http.Handler { return demo.Protect(demo.Handler(demo.Options{}), time.Now) },
	"":          func() http.Handler { return demo.Handler(demo.Options{}) },
}

// Parts of answers in the cases.
const (
	onlyModern = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`
	noFeature  = `,"data":{"supported":["2026-07-28"]}`
	route      = `--era modern --call route-by-region={"region":"eu-1","priority":7}`
	askingTool = "--era modern --negative --call order-tea"
	aQuestion  = `{"resultType":"input_required","requestState":"0123456789012345678901234567890123456789","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}}}}}}`
	needsForm  = `,"data":{"requiredCapabilities":{"elicitation":{"form":{}}}}`
	done       = `{"content":[],"resultType":"complete"}`
	taskFields = `"taskId":"5f0f7f7f1e8a4b1c9c51","status":"working","createdAt":"2026-11-23T12:00:00Z","lastUpdatedAt":"2026-11-23T12:00:00Z"`
	oldTasks   = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"x","version":"1"}}`
	taskTool   = `{"tools":[{"name":"t","title":"T","description":"Waits.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","additionalProperties":false},"execution":{"taskSupport":"optional"}}]}`
	metadata   = `{"issuer":"$BASE","authorization_endpoint":"$BASE/authorize","token_endpoint":"$BASE/token","code_challenge_methods_supported":["S256"],"authorization_response_iss_parameter_supported":true,"client_id_metadata_document_supported":true`
	resource   = `{"resource":"$BASE/mcp","authorization_servers":["$BASE"]`
	resourceAt = "/.well-known/oauth-protected-resource/mcp"
	serverAt   = "/.well-known/oauth-authorization-server"
)

// oldTaskServer is a server of 2025-11-25 with a tool that runs as a task, which has ended; then
// come the responses to its cancellation.
func oldTaskServer(cancelled override) []override {
	return []override{
		cancelled, reply(oldTasks, `"initialize"`, "2025-11-25"), reply(taskTool, `"tools/list"`),
		reply(`{"task":{`+taskFields+`,"ttl":60000}}`, `"tools/call"`, `"task":`), reply(`{"content":[]}`, `"tools/call"`),
		reply(`{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"5f0f7f7f1e8a4b1c9c51"}}}`, `"tasks/result"`),
	}
}

// probeCases have for each rule a server that breaks it and a server that keeps it: the same server
// with overrides; nil leaves the server unchanged. The flags may begin with a name of
// probedServers.
var probeCases = []struct {
	rule, flags string
	breaks      []override
	keeps       []override
}{
	{"L011", "--negative --era modern", []override{reply(`{}`, "mcpc/doesNotExist")}, nil},
	{"L012", "--negative --era modern", []override{reply(`{}`, `"jsonrpc"`).without(`"method"`)}, []override{
		refusal(400, -32700, "", "tools/list").without(`"jsonrpc"`), refusal(400, -32600, "", `"jsonrpc"`).without(`"method"`),
	}},
	{"L046", "--negative --era modern", []override{reply(`{"tools":[]}`, "1900-01-01")}, []override{
		refusal(400, -32022, `,"data":{"supported":["2026-07-28"],"requested":"1900-01-01"}`, "1900-01-01"),
	}},
	{"L047", "--negative --era modern", []override{
		refusal(400, -32022, `,"data":{"supported":["2026-07-28"],"requested":"1900-01-01"}`, "1900-01-01"),
	}, []override{
		refusal(400, -32022, `,"data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"1900-01-01"}`, "1900-01-01"),
	}},
	{"L048", "--negative --era modern", []override{reply(`{"tools":[]}`, `"tools/list"`).without("clientCapabilities")}, nil},
	{"L049", "--negative --era modern", []override{refusal(400, -32602, "", "clientCapabilities").without("clientInfo")}, nil},
	{"L053", "--negative --era modern", []override{reply(`{}`, `"resources/subscribe"`)}, nil},
	{"L057", "--negative --era modern", []override{reply(`{"prompts":[],"resultType":"complete"}`, `"prompts/list"`).later(1)}, nil},
	{"L061", "--negative --era modern", []override{reply(`{"tools":[]}`, "POST").without("Mcp-Method: ")}, nil},
	{"L062", "--negative --era modern", []override{reply(`{"tools":[]}`, "Mcp-Method: mcpc/other")}, []override{
		refusal(400, -32020, "", "Mcp-Protocol-Version: 2025-11-25", `protocolVersion":"2026-07-28"`),
	}},
	{"L064", "--negative --era modern", []override{reply(`{"tools":[]}`, "Mcp-Method: TOOLS/LIST")}, nil},
	{"L065", "--negative --era modern", []override{refusal(400, -32020, "", "Mcp-Name: =?base64?").without("%%%")}, []override{reply(`{"messages":[]}`, "Mcp-Name: =?base64?").without("%%%")}},
	{"L066", "--negative --era modern", []override{reply(`{"messages":[]}`, "%%%")}, nil},
	{"L073", "--negative --era modern", []override{refusal(400, -32600, "", "Last-Event-Id: ")}, []override{reply(`{"tools":[]}`, "Last-Event-Id: ")}},
	{"L083", "--negative --era modern", []override{reply(`{"tools":[]}`, "evil.example")}, []override{refusal(403, -32600, "", "evil.example")}},
	{"L086", "--negative --era modern", []override{{when: []string{"Accept: text/event-stream\n", "POST"}, status: 500}}, nil},
	{"L123", "--negative --era modern", []override{reply(`{"content":[],"isError":true,"resultType":"complete"}`, "mcpc-no-such-tool")}, nil},
	{"L125", "--negative --era modern", []override{reply(`{"content":[],"resultType":"complete"}`, `"arguments":[]`)}, []override{refusal(400, -32602, "", `"arguments":[]`)}},
	{"L141", "--negative --era modern", []override{reply(`{"messages":[]}`, "mcpc-no-such-prompt")}, nil},
	{"L145", "--negative --era modern", []override{reply(`{"tools":[]}`, "mcpc-bogus")}, nil},
	{"L175", "--negative --era modern", []override{reply(`{"tools":[],"resultType":"complete"}`, `"loud"`)}, []override{refusal(400, -32602, "", `"loud"`)}},
	{"L090", "--negative --era legacy", nil, []override{refusal(400, -32600, "", `"tools/list"`).without("Mcp-Session-Id: ")}},
	{"L091", "--negative --era legacy", []override{refusal(400, -32600, "", "mcpc-unknown-session")}, nil},
	{"L093", "--negative --era legacy", []override{reply(`{"tools":[]}`, "banana")}, nil},
	{"L094", "--negative --era legacy", []override{refusal(400, -32600, "", `"tools/list"`).without("Mcp-Protocol-Version: ")}, nil},
	{"L027", "--era legacy", []override{
		reply(`{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`, "1999-01-01"),
		reply(`{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`, `"protocolVersion":"2025-06-18"`),
	}, nil},
	{"L028", "--era legacy", []override{reply(`{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`, "1999-01-01")}, nil},
	{"L031", "--era legacy", []override{reply(`{"pong":true}`, `"ping"`)}, nil},
	{"L034", "--era legacy", []override{reply(`{"tools":[]}`, `"tools/list"`).without("Mcp-Session-Id: ")}, nil},
	{"L035", "--era legacy", []override{refusal(200, -32601, "", `"prompts/list"`)}, nil},
	{"L039", "--era legacy", []override{refusal(200, -32601, "", "completion/complete")}, nil},
	{"L082", "--era legacy", []override{{when: []string{"notifications/cancelled"}, status: 200, body: "{}"}}, nil},
	{"L092", "--era legacy", []override{{when: []string{"DELETE\n"}, status: 500}}, nil},
	{"L095", "--era legacy", []override{{when: []string{"GET\n"}, status: 404}}, nil},
	{"L136", "--era legacy", []override{refusal(200, -32603, "", "mcpc-nonexistent")}, nil},
	{"L135", "--era modern", []override{refusal(200, -32002, "", "mcpc-nonexistent")}, nil},
	{"L137", "--era modern", []override{refusal(200, -32602, "", "mcpc-nonexistent")}, nil},
	{"L044", "--era modern", []override{reply(`{"supportedVersions":["2025-11-25"],"capabilities":{},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`, `"server/discover"`).without(`"id":1,`)}, nil},
	{"L148", "--era modern", []override{reply(`{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}`,
		`"server/discover"`).without(`"id":1,`)}, nil},
	{"L115", "--era modern", []override{
		reply(`{"tools":[{"name":"b"},{"name":"a"}],"resultType":"complete"}`, `"tools/list"`).later(1),
		reply(`{"tools":[{"name":"a"},{"name":"b"}],"resultType":"complete"}`, `"tools/list"`),
	}, nil},
	{"L177", "--era modern", []override{refusal(404, -32601, "", "subscriptions/listen")}, nil},
	{"L124", `--era legacy --call get-sum={"a":1,"b":2}`, []override{refusal(200, -32602, "", "get-sum", `"arguments":{}`)}, nil},
	{"L126", `--era legacy --call get-sum={"a":1,"b":2}`, []override{reply(`{"content":[]}`, "get-sum", `"mcpc"`)}, nil},
	{"L008", "--negative --era 2025-03-26", []override{refusal(400, -32600, "", "[{")}, nil},
	{"L036", "--era modern", []override{reply(onlyModern, `"server/discover"`)}, []override{
		reply(onlyModern, `"server/discover"`),
		refusal(404, -32601, "", `"prompts/list"`), refusal(404, -32601, "", `"resources/list"`),
	}},
	{"L043", "--era modern", []override{refusal(404, -32601, "", `"server/discover"`).later(1)}, nil},
	{"L050", askingTool, []override{reply(aQuestion, "order-tea").later(1)}, nil},
	{"L051", "--era modern --call order-tea", []override{refusal(400, -32021, `,"data":{"requiredCapabilities":[]}`, "order-tea")}, nil},
	{
		"L052", "--negative --era modern",
		[]override{reply(onlyModern, `"server/discover"`), refusal(400, -32022, "", `"initialize"`)},
		[]override{reply(onlyModern, `"server/discover"`), refusal(400, -32022, noFeature, `"initialize"`)},
	},
	{"L067", route, []override{reply(done, "Mcp-Param-Region: mcpc-other")}, nil},
	{"L068", route, []override{refusal(400, -32020, "", `"tools/call"`).without(`"priority":7`)}, nil},
	{"L069", route, []override{refusal(400, -32020, "", "Mcp-Param-Priority: 7.0")}, nil},
	{"L070", route, []override{refusal(400, -32020, "", `"region":""`)}, []override{reply(done, `"region":""`, "Mcp-Param-Region: \n")}},
	{
		"L071", "--era modern",
		[]override{reply(onlyModern, `"server/discover"`), refusal(400, -32600, "", `"initialize"`), {when: []string{"GET\n"}, status: 404}, {when: []string{"DELETE\n"}, status: 405}},
		[]override{reply(onlyModern, `"server/discover"`), refusal(400, -32600, "", `"initialize"`), {when: []string{"GET\n"}, status: 405}, {when: []string{"DELETE\n"}, status: 405}},
	},
	{
		"L150", "--era modern --auth -H Authorization:mcpc",
		[]override{
			reply(`{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"public"}`, `"tools/list"`, "Authorization: ").later(1), reply(`{"tools":[{"name":"t"}],"resultType":"complete","ttlMs":0,"cacheScope":"public"}`, `"tools/list"`).without("Authorization: "),
		},
		[]override{
			reply(`{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`, `"tools/list"`, "Authorization: ").later(1),
			reply(`{"tools":[{"name":"t"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`, `"tools/list"`).without("Authorization: "),
		},
	},
	{"L157", askingTool, []override{reply(done, `"decline"`)}, nil},
	{"L158", askingTool, []override{refusal(400, -32602, "", `"inputResponses":{}`)}, nil},
	{"L184", `tasks --era modern --call slow_compute={"seconds":1}`, []override{refusal(400, -32602, "", `"tasks/get"`)}, nil},
	{"L188", "tasks --era modern --negative", []override{reply(`{"resultType":"complete",`+taskFields+`,"ttlMs":null}`, `"tasks/get"`).without("Mcp-Name: mcpc-other")}, nil},
	{"L189", "tasks --era modern --negative", []override{reply(`{"resultType":"complete",`+taskFields+`,"ttlMs":null}`, "Mcp-Name: mcpc-other", `"tasks/get"`)}, nil},
	{"L193", "--era legacy --negative --call t", oldTaskServer(reply(`{`+taskFields+`,"ttl":60000}`, `"tasks/cancel"`)), oldTaskServer(refusal(200, -32602, "", `"tasks/cancel"`))},
	{"tool-answers", "--era legacy --call get-env", []override{{when: []string{"get-env"}, status: 502, body: "the tool is gone"}}, nil},
	{"L197", "protected", []override{document(resourceAt, `{"resource":"https://other.example/mcp","authorization_servers":["$BASE"]}`)}, nil},
	{"L198", "protected", []override{document(resourceAt, `{"resource":"$BASE","authorization_servers":["$BASE"]}`)}, nil},
	{"L199", "protected", []override{document(resourceAt, resource+`,"scopes_supported":["offline_access"]}`)}, nil},
	{"L200", "protected", []override{document(serverAt, strings.Replace(metadata, "$BASE", "https://other.example", 1)+"}")}, nil},
	{"L201", "protected", []override{document(serverAt, strings.Replace(metadata, "S256", "plain", 1)+"}")}, nil},
	{"L202", "protected", []override{document(serverAt, metadata+`,"revocation_endpoint":"http://other.example/revoke"}`)}, nil},
	{"L203", "protected", []override{document(serverAt, strings.Replace(metadata, ":true", ":false", 1)+"}")}, nil},
	{"L204", "protected", nil, []override{document(serverAt, metadata+"}")}},
}

// Each probe finds the server that breaks its rule, and passes the server that keeps it.
func TestProbesFindWhatIsBroken(t *testing.T) {
	t.Parallel()
	for _, c := range probeCases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			name, flags, _ := strings.Cut(c.flags, " ")
			serve := probedServers[name]
			if serve == nil {
				serve, flags = probedServers[""], c.flags
			}
			testExample(t, c.rule, flags, started(t, overridden(t, serve(), c.breaks)), started(t, overridden(t, serve(), c.keeps)))
		})
	}
}

// A server that accepts initialize is not judged as a server that speaks no other era, even if it
// lists no older revision.
func TestOneEraOnlyIsFoundOut(t *testing.T) {
	discover := reply(`{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`, `"server/discover"`)
	for want, overrides := range map[string][]override{
		"not applicable": {discover},
		"warn":           {discover, refusal(400, -32600, "", `"initialize"`)},
	} {
		if verdicts, report := checked(t, started(t, overridden(t, probedServers[""](), overrides)), "--negative --era modern"); verdicts["L052"] != want {
			t.Errorf("got %s, want %s\n%.1500s", verdicts["L052"], want, report)
		}
	}
}

// The tool of a task is known also if tools before it have no name or the same name.
func TestEndedTaskIsOfTheToolThatMadeIt(t *testing.T) {
	t.Parallel()
	const nameless = `{"description":"Has no name.","annotations":{"readOnlyHint":true}},`
	const twice = `{"name":"a","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}},`
	for before, flags := range map[string]string{nameless: "--call-read-only", twice: "--call t"} {
		list := reply(strings.Replace(taskTool, "[", "["+before, 1), `"tools/list"`)
		overrides := append([]override{list}, oldTaskServer(reply(`{`+taskFields+`,"ttl":60000}`, `"tasks/cancel"`))...)
		verdicts, report := checked(t, started(t, overridden(t, probedServers[""](), overrides)), "--era legacy --negative "+flags)
		if verdicts["L193"] != "error" {
			t.Errorf("after %s: got %s\n%.1500s", before, verdicts["L193"], report)
		}
	}
}

// A method that does not exist is one finding: the rules about its answers cannot be judged. Templates are optional.
func TestMissingMethodsAreReportedOnce(t *testing.T) {
	t.Parallel()
	noTemplates := refusal(200, -32601, "", `"resources/templates/list"`)
	for _, c := range []struct {
		overrides     []override
		verdicts      map[string]string
		lists, absent string
	}{
		{[]override{noTemplates}, map[string]string{"L035": "pass", "L136": "pass"}, "no templates", "failed"},
		{
			[]override{noTemplates, refusal(200, -32601, "", `"resources/list"`), refusal(200, -32601, "", `"resources/read"`)},
			map[string]string{"L035": "error", "L136": "not run"},
			"resources/list failed, no templates", "L136",
		},
		{[]override{refusal(200, -32603, "", `"resources/templates/list"`)}, nil, "resources/templates/list failed", "no templates"},
	} {
		verdicts, report := checked(t, started(t, overridden(t, probedServers[""](), c.overrides)), "--era legacy")
		for rule, want := range c.verdicts {
			if verdicts[rule] != want {
				t.Errorf("%s is %s, not %s\n%.1500s", rule, verdicts[rule], want, report)
			}
		}
		var r struct{ Ladder []struct{ Name, Text string } }
		if err := json.Unmarshal(report, &r); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Ladder, func(s struct{ Name, Text string }) bool { return s.Name == "lists" })
		if lists := r.Ladder[max(i, 0)].Text; !strings.Contains(lists, c.lists) || strings.Contains(lists, c.absent) {
			t.Errorf("%q is not %q", lists, c.lists)
		}
	}
}

// A batch may be answered with an array as well as with a stream.
func TestABatchIsAnsweredWithAnArray(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--json-answers"}} {
		demo := clitest.Serve(t, nil, append([]string{"demo", "--listen", "127.0.0.1:0"}, flags...)...)
		if verdicts, report := checked(t, demo.URL, "--negative --era 2025-03-26"); verdicts["L008"] != "pass" {
			t.Errorf("%q: got %s\n%.1500s", flags, verdicts["L008"], report)
		}
	}
}

// These need other servers than one at a URL of this machine.
func TestProbesOfOtherServers(t *testing.T) {
	t.Parallel()
	good := probedServers[""]()
	t.Run("L022", func(t *testing.T) {
		t.Parallel()
		testExample(t, "L022", "", "-- sh -c mcpc${IFS}demo${IFS}--stdio;sleep${IFS}9", "-- mcpc demo --stdio")
	})
	t.Run("L063", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewUnstartedServer(good)
		server.Listener = lowersNothing{server.Listener}
		server.Start()
		t.Cleanup(server.Close)
		testExample(t, "L063", "--negative --era modern", server.URL+"/mcp", started(t, good))
	})
	t.Run("L085", func(t *testing.T) {
		t.Parallel()
		testExample(t, "L085", "--era modern --rate 0", "--proxy "+proxyTo(t, good)+" http://example.com/mcp",
			"--proxy "+proxyTo(t, good)+" --insecure -H Authorization:mcpc https://example.com/mcp")
	})
}

// lowersNothing is a listener of a server that does not know header names in lower case.
type lowersNothing struct{ net.Listener }

func (l lowersNothing) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return otherNames{c}, err
}

type otherNames struct{ net.Conn }

func (c otherNames) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	copy(p, bytes.ReplaceAll(p[:n], []byte("\nmcp-method:"), []byte("\nno-meaning:")))
	return n, err
}

// proxyTo returns the URL of a proxy that forwards every host to the same server.
func proxyTo(t *testing.T, h http.Handler) string {
	t.Helper()
	local := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "127.0.0.1"
		h.ServeHTTP(w, r)
	})
	secure := httptest.NewTLSServer(local)
	t.Cleanup(secure.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			local.ServeHTTP(w, r)
			return
		}
		there, err := net.Dial("tcp", secure.Listener.Addr().String())
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		here, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(there, here); there.Close() }()
		_, _ = io.Copy(here, there)
		here.Close()
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// unjudged are the rules that no client can judge on its own, and why.
var unjudged = map[string]string{
	"L080": "whether the work goes on after the stream was closed shows only in another tool",
	"L101": "only a server that breaks a stream off, and keeps it, shows what it replays",
	"L140": "a request for a file outside of a root reads it where the rule is broken",
	"L207": "a token for another server is sent to none",
	"L208": "a token in a URL is written into logs",
}

// Each rule has an example that breaks it, found as that rule, and an example that keeps it: in
// package lint if any traffic can show it, else a server here.
func TestEveryRuleHasItsExamples(t *testing.T) {
	// L084 is tested in package probe: a server here listens on loopback only.
	servers := map[string]bool{"L022": true, "L063": true, "L084": true, "L085": true}
	for _, c := range probeCases {
		servers[c.rule] = true
	}
	for _, tool := range planted.Tools() { // tested in fuzz_test.go
		servers[tool.Rule] = true
	}
	n := 0
	for _, r := range lint.Rules() {
		examples := servers[r.ID]
		if text, err := os.ReadFile("../../lint/testdata/" + r.ID + ".txtar"); err == nil {
			examples = examples || bytes.Contains(text, []byte("-- breaks")) && bytes.Contains(text, []byte("-- keeps"))
		}
		hasReason := unjudged[r.ID] != ""
		if examples && hasReason {
			t.Errorf("%s has examples: remove it from unjudged", r.ID)
		}
		if !examples && !hasReason {
			t.Errorf("%s has no examples: add internal/lint/testdata/%[1]s.txtar with breaks and keeps, if it is passive; "+
				"else a row of probeCases, or a reason in unjudged", r.ID)
		}
		if strings.HasPrefix(r.ID, "L") {
			n++
		}
	}
	if n != 210 {
		t.Errorf("%d rules", n)
	}
}

// testExample finds a rule broken by one server and kept by another, and no other difference.
func testExample(t *testing.T, rule, flags, breaks, keeps string) {
	t.Helper()
	broken, report := checked(t, breaks, flags)
	if v := broken[rule]; v != "error" && v != "warn" && v != "info" {
		t.Errorf("broken, and the verdict is %s\n%.1500s", v, report)
	}
	kept, report := checked(t, keeps, flags)
	if kept[rule] != "pass" {
		t.Errorf("kept, and the verdict is %s\n%.1500s", kept[rule], report)
	}
	var others []string
	for id, v := range broken {
		if id != rule && v != kept[id] && (v == "error" || v == "warn" || v == "info") {
			others = append(others, id)
		}
	}
	slices.Sort(others)
	if got := strings.Join(others, " "); got != alsoBroken[rule] {
		t.Errorf("also broken: %q, not %q", got, alsoBroken[rule])
	}
}

// alsoBroken are the rules that no server can keep that breaks another in the way of its case.
var alsoBroken = map[string]string{
	"L027": "L082 L095", "L028": "L082 L095", "L044": "L045", "L057": "L045 L145 L148 L152", "L068": "L124", "L115": "L045 L106 L128 L148",
	"L135": "L014", "L148": "L045", "L197": "L198",
}

// checked are the verdicts on all rules.
func checked(t *testing.T, target, flags string) (verdicts map[string]string, report []byte) {
	t.Helper()
	args := append([]string{"check", "--json", "--timeout", "60s"}, strings.Fields(flags+" "+target)...)
	report = []byte(clitest.MCPC(t, nil, args...).Stdout) // the exit code depends on the severity
	var r struct {
		Rules    []struct{ Rule, Verdict string }
		Findings []struct {
			Evidence []struct{ Got, Exchange string }
		}
	}
	if err := json.Unmarshal(report, &r); err != nil || len(r.Rules) != len(lint.Rules()) {
		t.Fatalf("%v: %s", err, report)
	}
	for _, f := range r.Findings {
		if len(f.Evidence) == 0 || f.Evidence[0].Got == "" {
			t.Errorf("no evidence: %s", report)
		}
	}
	verdicts = map[string]string{}
	for _, rule := range r.Rules {
		verdicts[rule.Rule] = rule.Verdict
	}
	return verdicts, report
}
