package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mcpc/internal/demo"
	"mcpc/internal/wire"
)

// An override answers the requests whose text has all of some words, and none of others:
// the method, a line for each header field, and the body. In the body of the answer, $ID is
// the id of the request; an event stream is not needed for it.
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

// overridden is the demo server with other answers to some requests.
func overridden(t *testing.T, overrides []override) string {
	t.Helper()
	inner := demo.Handler(demo.Options{})
	seen := make([]atomic.Int64, len(overrides))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := r.Method + "\n"
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
			_, _ = io.WriteString(w, strings.ReplaceAll(o.body, "$ID", id))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// probeCases have for each rule a server that breaks it and one that keeps it: the demo with
// overrides, nil for the demo as it is.
var probeCases = []struct {
	rule, flags string
	breaks      []override
	keeps       []override
}{
	{"L011", "--negative --era modern", []override{reply(`{}`, "mcpc/doesNotExist")}, nil},
	{"L012", "--negative --era modern", nil, []override{
		refusal(400, -32700, "", "tools/list").without(`"jsonrpc"`), refusal(400, -32600, "", `"jsonrpc"`).without(`"method"`)}},
	{"L046", "--negative --era modern", nil, []override{
		refusal(400, -32022, `,"data":{"supported":["2026-07-28"],"requested":"1900-01-01"}`, "1900-01-01")}},
	{"L047", "--negative --era modern", []override{
		refusal(400, -32022, `,"data":{"supported":["2026-07-28"],"requested":"1900-01-01"}`, "1900-01-01")}, []override{
		refusal(400, -32022, `,"data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"1900-01-01"}`, "1900-01-01")}},
	{"L048", "--negative --era modern", []override{reply(`{"tools":[]}`, `"tools/list"`).without("clientCapabilities")}, nil},
	{"L049", "--negative --era modern", []override{refusal(400, -32602, "", "clientCapabilities").without("clientInfo")}, nil},
	{"L053", "--negative --era modern", []override{reply(`{}`, `"resources/subscribe"`)}, nil},
	{"L057", "--negative --era modern", []override{reply(`{"prompts":[],"resultType":"complete"}`, `"prompts/list"`).later(1)}, nil},
	{"L061", "--negative --era modern", []override{reply(`{"tools":[]}`, "POST").without("Mcp-Method: ")}, nil},
	{"L062", "--negative --era modern", []override{reply(`{"tools":[]}`, "Mcp-Method: mcpc/other")}, []override{
		refusal(400, -32020, "", "Mcp-Protocol-Version: 2025-11-25", `protocolVersion":"2026-07-28"`)}},
	{"L064", "--negative --era modern", []override{reply(`{"tools":[]}`, "Mcp-Method: TOOLS/LIST")}, nil},
	{"L065", "--negative --era modern", nil, []override{reply(`{"messages":[]}`, "Mcp-Name: =?base64?").without("%%%")}},
	{"L066", "--negative --era modern", []override{reply(`{"messages":[]}`, "%%%")}, nil},
	{"L073", "--negative --era modern", nil, []override{reply(`{"tools":[]}`, "Last-Event-Id: ")}},
	{"L083", "--negative --era modern", []override{reply(`{"tools":[]}`, "evil.example")}, []override{refusal(403, -32600, "", "evil.example")}},
	{"L086", "--negative --era modern", []override{{when: []string{"Accept: text/event-stream\n", "POST"}, status: 500}}, nil},
	{"L123", "--negative --era modern", []override{reply(`{"content":[],"isError":true,"resultType":"complete"}`, "mcpc-no-such-tool")}, nil},
	{"L125", "--negative --era modern", nil, []override{refusal(400, -32602, "", `"arguments":[]`)}},
	{"L141", "--negative --era modern", []override{reply(`{"messages":[]}`, "mcpc-no-such-prompt")}, nil},
	{"L145", "--negative --era modern", []override{reply(`{"tools":[]}`, "mcpc-bogus")}, nil},
	{"L175", "--negative --era modern", nil, []override{refusal(400, -32602, "", `"loud"`)}},
	{"L090", "--negative --era legacy", nil, []override{refusal(400, -32600, "", `"tools/list"`).without("Mcp-Session-Id: ")}},
	{"L091", "--negative --era legacy", []override{refusal(400, -32600, "", "mcpc-unknown-session")}, nil},
	{"L093", "--negative --era legacy", []override{reply(`{"tools":[]}`, "banana")}, nil},
	{"L094", "--negative --era legacy", []override{refusal(400, -32600, "", `"tools/list"`).without("Mcp-Protocol-Version: ")}, nil},
	{"L027", "--era legacy", []override{reply(`{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`, "1999-01-01"),
		reply(`{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`, `"protocolVersion":"2025-06-18"`)}, nil},
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
	{"L115", "--era modern", []override{reply(`{"tools":[{"name":"b"},{"name":"a"}],"resultType":"complete"}`, `"tools/list"`).later(1),
		reply(`{"tools":[{"name":"a"},{"name":"b"}],"resultType":"complete"}`, `"tools/list"`)}, nil},
	{"L177", "--era modern", []override{refusal(404, -32601, "", "subscriptions/listen")}, nil},
	{"L124", `--era legacy --call get-sum={"a":1,"b":2}`, []override{refusal(200, -32602, "", "get-sum", `"arguments":{}`)}, nil},
	{"L126", `--era legacy --call get-sum={"a":1,"b":2}`, []override{reply(`{"content":[]}`, "get-sum", `"mcpc"`)}, nil},
}

// Each probe finds the server that breaks its rule, and passes the one that keeps it.
func TestProbesFindWhatIsBroken(t *testing.T) {
	binary := builtBinary(t)
	for _, c := range probeCases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			if verdict, report := checked(t, binary, overridden(t, c.breaks), c.rule, c.flags); verdict != "error" && verdict != "warn" && verdict != "info" {
				t.Errorf("broken, and the verdict is %s\n%.1500s", verdict, report)
			}
			if verdict, report := checked(t, binary, overridden(t, c.keeps), c.rule, c.flags); verdict != "pass" {
				t.Errorf("kept, and the verdict is %s\n%.1500s", verdict, report)
			}
		})
	}
}

// checked is the verdict on one rule.
func checked(t *testing.T, binary, url, rule, flags string) (verdict string, report []byte) {
	t.Helper()
	args := append([]string{"check", url, "--only", rule, "--json"}, strings.Fields(flags)...)
	cmd := exec.Command(binary, args...)
	cmd.Env = append(cleanEnv(), "MCPC_STATE="+filepath.Join(t.TempDir(), "state"))
	report, _ = cmd.Output() // the exit code depends on the severity
	var r struct {
		Rules    []struct{ Rule, Verdict, Why string }
		Findings []struct {
			Evidence []struct{ Got, Exchange string }
		}
	}
	if err := json.Unmarshal(report, &r); err != nil || len(r.Rules) != 1 {
		t.Fatalf("%v: %s", err, report)
	}
	for _, f := range r.Findings {
		if len(f.Evidence) == 0 || f.Evidence[0].Got == "" {
			t.Errorf("no evidence: %s", report)
		}
	}
	return r.Rules[0].Verdict, report
}
