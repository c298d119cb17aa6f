//go:build programs

package share_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/connect/host"
	"mcpc/internal/demo"
	"mcpc/internal/jsonraw"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/servers"
	"mcpc/internal/wire"
)

// Exported commands repeat the recording: the same bytes on the wire, the same fields. The server
// writes down every request that it gets.

// A bench runs commands with one state, in the directory of the process.
type bench struct {
	*clitest.Home
	t *testing.T
}

// newBench returns an empty one, with the real sh in the PATH.
func newBench(t *testing.T) *bench {
	t.Helper()
	t.Setenv("PATH", clitest.RealPath())
	return &bench{clitest.EnterHome(t), t}
}

// Run runs mcpc in this process, and other commands as programs.
func (b *bench) Run(argv ...string) (stdout, ended string) {
	b.t.Helper()
	if argv[0] != "mcpc" {
		return b.Home.Run(argv...)
	}
	got := b.MCPC(argv[1:]...)
	return got.Stdout, fmt.Sprint(got.Code)
}

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
	program.MustHave(t, "curl")
	all := client.Revisions()
	for _, protocol := range []string{all[0], all[1], all[len(all)-1]} {
		for _, c := range exportedCalls {
			t.Run(protocol+" "+c.name, func(t *testing.T) {
				l := servers.NewRequestStore(t, demo.Handler(demo.Options{}))
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

// sameRequest compares two requests, except the id of the session, which differs.
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
