package k6

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"mcpc/internal/bench"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files")

// hostile is a text that ends strings, comments and scripts.
const hostile = "</script>`${1}`'\"\\\u2028*/"

func expectations(texts ...string) (all []bench.Expectation) {
	for _, text := range texts {
		e, err := bench.ParseExpectation(text)
		if err != nil {
			panic(err)
		}
		all = append(all, e)
	}
	return all
}

func plans() map[string]Plan {
	token := redact.Redacted("canary-token")
	return map[string]Plan{
		"open": {
			Version: "1.2.3", URL: "https://mcp.example/mcp?key=" + redact.Redacted("canary-key"), Revision: "2025-11-25",
			Headers: []wire.Field{{Name: "Authorization", Value: "Bearer " + token}, {Name: "X-Tenant", Value: hostile}},
			Calls: []Call{
				{Method: "tools/call", Tool: "create", Params: json.RawMessage(`{"name":"create","arguments":{"n":1.0,"big":9007199254740993}}`)},
				{
					Method: "tools/call", Tool: "read", Params: json.RawMessage(`{"name":"read","arguments":{"id":"order-17","again":"` + token + `"}}`),
					Bound: []Bound{{Start: 33, End: 43, Call: 0, Path: []any{"structuredContent", "orders", 0, "id"}}},
				},
			},
			Open: true, Rate: 20.5, Duration: 90 * time.Second, Warmup: 1500 * time.Millisecond, Expect: expectations("p99<200ms", "p99.9 < 1s", "error_rate<0.1%", "rate>=50/s"),
		},
		"closed": {
			Version: "1.2.3", URL: "http://127.0.0.1:3001/mcp", Revision: "2026-07-28", Stateless: true,
			Calls: []Call{
				{Method: "tools/list"},
				{Method: "tools/call", Tool: hostile, Params: json.RawMessage(`{"name":"x","_meta":{"vendor/x":1}}`), Headers: []wire.Field{{Name: "Mcp-Method", Value: "tools/call"}, {Name: "Mcp-Name", Value: hostile}}},
			},
			Users: 20, Think: 250 * time.Millisecond, Duration: time.Minute,
		},
	}
}

// The expected output is in testdata: for the script only PLAN, since the rest is script.js.
func TestWrite(t *testing.T) {
	for name, p := range plans() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new")
			secrets, err := Write(dir, p)
			if err != nil {
				t.Fatal(err)
			}
			before, after, _ := strings.Cut(script, "/*PLAN*/")
			written := read(t, filepath.Join(dir, Script))
			plan, isScript := strings.CutPrefix(written, before)
			plan, ends := strings.CutSuffix(plan, after)
			if !isScript || !ends {
				t.Errorf("the script is not script.js around a plan:\n%s", written)
			}
			if !json.Valid([]byte(plan)) || strings.Contains(plan, "</") || strings.Contains(plan, "\u2028") {
				t.Errorf("the plan is not JSON that is safe in a script: %s", plan)
			}
			golden(t, name+".plan.json", plan)
			golden(t, name+".data.jsonl", read(t, filepath.Join(dir, Data)))
			if all := written + read(t, filepath.Join(dir, Data)); strings.Contains(all, "canary") {
				t.Errorf("a secret is in the files:\n%s", all)
			}
			if want := map[string]int{"open": 2}[name]; len(secrets) != want {
				t.Errorf("secrets %v", secrets)
			}
			if _, err := Write(dir, p); !errors.Is(err, ErrNotEmpty) {
				t.Errorf("a directory with files: %v", err)
			}
		})
	}
	if strings.Count(script, "/*PLAN*/") != 1 {
		t.Error("the script has not one place for the plan")
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, file); got != want {
		t.Errorf("%s: got\n%s\nwant\n%s\n(-update writes it)", name, got, want)
	}
}

func TestPlansThatAreRefused(t *testing.T) {
	for want, p := range map[string]Plan{
		"there are no calls":                  {},
		"the params of ping are not UTF-8":    {Calls: []Call{{Method: "ping", Params: json.RawMessage("{\"a\":\"\xff\"}")}}},
		"the params of ping are not a JSON":   {Calls: []Call{{Method: "ping", Params: json.RawMessage(`{"a":}`)}}},
		"the params of x are not a JSON obje": {Calls: []Call{{Method: "x", Params: json.RawMessage(`[]`)}}},
	} {
		dir := filepath.Join(t.TempDir(), "none")
		if _, err := Write(dir, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%q: a directory was made", want)
		}
	}
}

func TestThresholds(t *testing.T) {
	for expect, want := range map[string][2]string{
		"p50<1ms":           {"mcp_call", "p(50)<1"},
		"p99.9<=1.5s":       {"mcp_call", "p(99.9)<=1500"},
		"p95<20ms":          {"mcp_call", "p(95)<20"},
		"max<250us":         {"mcp_call", "max<0.25"},
		"error_rate<0.7%":   {"mcp_failed", "rate<0.007"},
		"error_rate < 0.01": {"mcp_failed", "rate<0.01"},
		"rate>50":           {"mcp_ok", "rate>50"},
	} {
		all := buildThresholds(expectations(expect))
		if got := all[want[0]]; len(got) == 0 || got[len(got)-1] != want[1] {
			t.Errorf("%s: %v, want %v", expect, all, want)
		}
	}
}

// A handle is what a server gave out and a client sends back.
func TestBind(t *testing.T) {
	type exchange struct {
		method, params, result string
		// bound are the texts that are bound, and the calls that gave them.
		bound map[string]int
	}
	tool := func(params, result string, bound map[string]int) exchange {
		return exchange{"tools/call", params, result, bound}
	}
	for name, all := range map[string][]exchange{
		"an id in a list": {
			tool(`{"arguments":{}}`, `{"structuredContent":{"orders":[{"id":"order-0001"},{"id":"order-0002"}]}}`, nil),
			tool(`{ "arguments" : {"é":"x","ids":["order-0002"]}}`, `{}`, map[string]int{"order-0002": 0}),
		},
		"the last one that gave it": {
			tool(`{}`, `{"structuredContent":{"id":"order-0001"}}`, nil),
			tool(`{}`, `{"structuredContent":{"id":"order-0001"}}`, nil),
			tool(`{"arguments":{"id":"order-0001"}}`, `{}`, map[string]int{"order-0001": 1}),
		},
		"the client's own value": {
			tool(`{"arguments":{"id":"order-0001"}}`, `{"structuredContent":{"id":"order-0001"}}`, nil),
			tool(`{"arguments":{"id":"order-0001"}}`, `{}`, nil),
		},
		"words, short texts, numbers": {
			tool(`{}`, `{"structuredContent":{"a":"completed","b":"a1","c":12345678}}`, nil),
			tool(`{"arguments":{"a":"completed","b":"a1","c":12345678}}`, `{}`, nil),
		},
		"outside of arguments and structuredContent": {
			tool(`{}`, `{"content":[{"text":"order-0001"}],"structuredContent":{"name":"tool-0001"}}`, nil),
			tool(`{"name":"tool-0001","arguments":{"id":"order-0001"}}`, `{}`, nil),
		},
		"a cursor": {
			{"tools/list", `{}`, `{"tools":[],"nextCursor":"2"}`, nil},
			{"prompts/list", `{"cursor":"2"}`, `{}`, nil},
			{"tools/list", `{"cursor":"2"}`, `{"nextCursor":"3"}`, map[string]int{"2": 0}},
			{"tools/list", `{"cursor":"3"}`, `{}`, map[string]int{"3": 2}},
		},
		"what is no JSON": {
			tool(`{`, `{`, nil), tool(``, ``, nil),
		},
	} {
		var b Binder
		for i, x := range all {
			got := map[string]int{}
			for _, bound := range b.Bind(Call{Method: x.method, Params: json.RawMessage(x.params)}, json.RawMessage(x.result)) {
				got[strings.Trim(x.params[bound.Start:bound.End], `"`)] = bound.Call
			}
			if len(got)+len(x.bound) > 0 && !reflect.DeepEqual(got, x.bound) {
				t.Errorf("%s, call %d: %v, want %v", name, i, got, x.bound)
			}
		}
	}
	var b Binder
	b.Bind(Call{Method: "tools/call"}, json.RawMessage(`{"structuredContent":{"id":"order-0001"}}`))
	params := json.RawMessage(`{"arguments":{"id":"order-0001"}}`)
	if got := b.Bind(Call{Method: "tools/call", Params: params, Headers: []wire.Field{{Name: "Mcp-Param-Id", Value: "order-0001"}}}, nil); got != nil {
		t.Errorf("a value that a header field repeats is bound: %v", got)
	}
	if got := b.Bind(Call{Method: "tools/call", Params: params}, nil); len(got) != 1 || !reflect.DeepEqual(got[0].Path, []any{"structuredContent", "id"}) {
		t.Errorf("bound %v", got)
	}
}
