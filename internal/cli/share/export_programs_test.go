package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/connect/host"
	"mcpc/internal/demo"
	"mcpc/internal/jsonraw"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/servers"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// What is exported does again what was recorded: the same bytes on the wire, the
// same fields. The server writes down every request that it gets.

// A bench runs commands with one state.
type bench struct {
	*program.Home
	t *testing.T
}

func newBench(t *testing.T) *bench { return &bench{program.NewHome(t), t} }

func (b *bench) export(form string) string {
	b.t.Helper()
	out, ended := b.Run("mcpc", "export", "last", "--as", form)
	if ended != "0" {
		b.t.Fatalf("export --as %s ended with %s", form, ended)
	}
	return out
}

// nasty is what quoting must survive.
const nasty = "it's $HOME `id` $(id) \\ \\n \"q\" %s %d !! é ☕ \u202e\u200b\u009b end; rm -rf x # *"

var exportedCalls = []struct {
	name, path string
	args       []string
}{
	{"plain", "/mcp", []string{"call", "get-sum", `{"a":1,"b":2.50e0}`}},
	{"nasty", "/mcp", []string{"call", "echo", string(jsonraw.With(nil, "message", jsonraw.Quote(nasty)))}},
	{"spread", "/mcp", []string{"call", "echo", "{\n \"message\" :\t\"a\" }"}},
	{"large", "/mcp", []string{"call", "echo", "@large.json"}},
	{"secrets", "/mcp", []string{"call", "echo", `{"message":"x"}`, "-H", "Authorization: Bearer " + firstSecret, "-H", "X-Api-Key: " + secondSecret, "-H", "X-Note: " + `$(id) "a" 'b'`}},
	{"secret argument", "/mcp", []string{"call", "echo", `{"password":"` + firstSecret + `"}`, "--no-validate"}},
	{"query", "/mcp?a[0]={x}&b=%20c'", []string{"call", "get-sum", `{"a":1,"b":2}`}},
	{"own fields", "/mcp", []string{"call", "get-sum", `{"a":1,"b":2}`, "-H", "User-Agent:", "-H", "Accept-Encoding:", "-H", "X-Empty: é"}},
	{"tool's error", "/mcp", []string{"call", "fail"}},
	{"raw", "/mcp", []string{"raw", "tools/call", `{"name":"get-sum","arguments":{"a":"x"},"_meta":{"mine":1}}`}},
}

const (
	firstSecret  = "First-Secret-0123456789"
	secondSecret = "Second-Secret-9876543210"
)

// withSecrets are the variables that the scripts ask for.
func (b *bench) withSecrets(script string) {
	for _, v := range []string{"MCPC_TOKEN=" + firstSecret, "MCPC_X_API_KEY=" + secondSecret, "MCPC_SECRET=" + firstSecret} {
		name, _, _ := strings.Cut(v, "=")
		if strings.Contains(script, "$"+name) != strings.Contains(script, "# Set "+name+" ") {
			b.t.Errorf("%s stands in the script without being explained, or the other way round", name)
		}
		b.Env = append(b.Env, v)
	}
}

func TestExportedCommandsSendTheSame(t *testing.T) {
	t.Parallel()
	all := client.Revisions()
	for _, protocol := range []string{all[0], all[1], all[len(all)-1]} {
		for _, c := range exportedCalls {
			t.Run(protocol+" "+c.name, func(t *testing.T) {
				t.Parallel()
				l := servers.NewScribe(t, demo.Handler(demo.Options{}))
				b := newBench(t)
				large := `{"message":"` + strings.Repeat("x'é", 60_000) + `"}`
				if err := os.WriteFile(filepath.Join(b.Dir, "large.json"), []byte(large), 0o600); err != nil {
					t.Fatal(err)
				}
				_, ended := b.Run(append([]string{"mcpc", "-s", l.URL + c.path, "--protocol", protocol}, c.args...)...)
				original := l.Last(t, "tools/call")
				for _, form := range []string{"curl", "mcpc"} {
					script := b.export(form)
					for _, secret := range []string{firstSecret, secondSecret} {
						if strings.Contains(script, secret) {
							t.Errorf("the script has a secret:\n%s", script)
						}
					}
					l.Forget()
					b.withSecrets(script)
					name := filepath.Join(b.Dir, form+".sh")
					if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
						t.Fatal(err)
					}
					_, again := b.Run("sh", name)
					got := l.Last(t, "tools/call")
					if form == "curl" {
						sameRequest(t, got, original)
					} else if again != ended || asked(got) != asked(original) {
						t.Errorf("ended with %s, want %s\ngot  %s\nwant %s", again, ended, asked(got), asked(original))
					}
					_ = os.RemoveAll(filepath.Join(b.Dir, "state", host.TrafficDir, "000002.jsonl")) // so that last is still the first
				}
			})
		}
	}
}

// sameRequest compares what two requests were, but for the id of the session, which
// is another one.
func sameRequest(t *testing.T, got, want servers.Received) {
	t.Helper()
	if !bytes.Equal(got.Body, want.Body) {
		t.Errorf("body:\ngot  %.300s\nwant %.300s", got.Body, want.Body)
	}
	if got.Method != want.Method || got.URL != want.URL {
		t.Errorf("got %s %s, want %s %s", got.Method, got.URL, want.Method, want.URL)
	}
	const session = "Mcp-Session-Id"
	if (got.Header.Get(session) == "") != (want.Header.Get(session) == "") {
		t.Errorf("session: got %q, want %q", got.Header.Get(session), want.Header.Get(session))
	}
	got.Header.Del(session)
	want.Header.Del(session)
	for name := range want.Header {
		if !slices.Equal(got.Header[name], want.Header[name]) {
			t.Errorf("%s: got %q, want %q", name, got.Header[name], want.Header[name])
		}
	}
	for name := range got.Header {
		if want.Header[name] == nil {
			t.Errorf("%s: %q was not there", name, got.Header[name])
		}
	}
}

// asked is what a tools/call asks, without what each client adds.
func asked(h servers.Received) string {
	members, _ := wire.ParseMessage(h.Body).ParamMembers()
	arguments, _ := members.Get("arguments")
	return members.Text("name") + " " + string(jsonraw.Compact(arguments))
}

// harSchema is written from the specification of HAR.
func harSchema(t *testing.T) *validate.Schema {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "har-1.2.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	schema, warnings, err := validate.Compile(raw)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if findings, _ := schema.Check([]byte(`{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[{}]}}`)); len(findings) == 0 {
		t.Fatal("the schema lets an empty entry through")
	}
	return schema
}

// HAR against the schema that was written from its specification.
func TestHARFitsItsSchema(t *testing.T) {
	t.Parallel()
	schema := harSchema(t)
	golden := filepath.Join("..", "..", "internal", "capture", "testdata", "golden.jsonl")
	b := newBench(t)
	path, err := filepath.Abs(golden)
	if err != nil {
		t.Fatal(err)
	}
	l := servers.NewScribe(t, demo.Handler(demo.Options{}))
	for _, run := range [][]string{{"-s", l.URL + "/mcp?x=1&y=%C3%A9"}, {"-s", l.URL + "/sse", "--protocol", client.Revisions()[len(client.Revisions())-1]}, {"-s", "demo"},
		{"-s", "http://127.0.0.1:1/mcp"}} {
		_, _ = b.Run(append([]string{"mcpc", "call", "get-sum", `{"a":1,"b":2}`, "--record", "own.jsonl"}, run...)...)
	}
	for _, file := range []string{path, "own.jsonl"} {
		out, ended := b.Run("mcpc", "export", file, "--as", "har")
		findings, err := schema.Check([]byte(out))
		if ended != "0" || err != nil || len(findings) > 0 {
			t.Errorf("%s: ended with %s, %v, %v", file, ended, err, findings)
		}
		checkTimings(t, out)
	}
}

// checkTimings: the time of an entry is the sum of its parts, without those that are
// not known, and TLS is a part of connecting.
func checkTimings(t *testing.T, har string) {
	t.Helper()
	var doc struct {
		Log struct {
			Entries []struct {
				Time    float64
				Timings struct{ Blocked, DNS, Connect, SSL, Send, Wait, Receive float64 }
			}
		}
	}
	if err := json.Unmarshal([]byte(har), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Log.Entries) < 4 {
		t.Errorf("only %d entries", len(doc.Log.Entries))
	}
	for i, e := range doc.Log.Entries {
		p, sum := e.Timings, 0.0
		for _, part := range []float64{p.Blocked, p.DNS, p.Connect, p.Send, p.Wait, p.Receive} {
			sum += max(part, 0)
		}
		if diff := sum - e.Time; diff > 1e-6 || diff < -1e-6 || p.SSL > p.Connect || p.Send < 0 || p.Wait < 0 || p.Receive < 0 {
			t.Errorf("entry %d: time %v, timings %+v", i, e.Time, p)
		}
	}
}
