package cmdutil_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/servers"
)

// run runs a command line and returns what it wrote.
func run(env []string, args ...string) clitest.Output {
	var stdout, stderr bytes.Buffer
	code := clitest.Run{Args: args, Env: env, Stdout: &stdout, Stderr: &stderr}.Do()
	return clitest.Output{Stdout: stdout.String(), Stderr: stderr.String(), Code: code}
}

// offered returns what a shell is offered for the last word of a command line: "a b" and the
// directive.
func offered(env []string, line string) string {
	args := strings.Split("__complete|"+line, "|")
	return strings.TrimSuffix(strings.ReplaceAll(run(env, args...).Stdout, "\n", " "), " ")
}

// A flag with fixed values offers these, and no files.
func TestFlagsWithFixedValues(t *testing.T) {
	env := clitest.Env(t.TempDir())
	for line, want := range map[string]string{
		"mock|x.jsonl|--era|": "both legacy modern", "mock|x.jsonl|--match|": "strict loose exact",
		"mock|x.jsonl|--repeat|": "in-order last cycle", "mock|x.jsonl|--latency|as": "as-recorded",
		"mock|x.jsonl|--on-miss|": "error nearest", "replay|x.jsonl|--match|": "strict exact",
		"replay|x.jsonl|--compare|": "result schema status", "replay|x.jsonl|--pace|": "max as-recorded",
		"log|--sort|": "time dur size", "check|--fail-on|": "error warn never", "check|--era|leg": "legacy",
		"bench|demo|echo|--export|": "k6", "bench|demo|echo|--against|dem": "demo", "call|--confirm|": "auto always never",
		"--color|": "auto always never", "export|--as|mock": "mock-script", "diff|--fail-on|break": "breaking",
	} {
		got, directive, _ := strings.Cut(offered(env, line), " :")
		if line == "bench|demo|echo|--against|dem" {
			got, _, _ = strings.Cut(got, "\t")
		}
		if got != want || directive != "4" {
			t.Errorf("%s: offered %q :%s, want %q :4", line, got, directive, want)
		}
	}
}

// The words after a server are completed from its lists; the demo is asked for them.
func TestWordsOfTheDemo(t *testing.T) {
	env := clitest.Env(t.TempDir())
	for _, c := range []struct{ line, want string }{
		{"call|get-s", "get-structured-content get-sum :4"},
		{"call|get-sum|", "a= b= :6"},
		{"call|get-sum|a=1|", "b= :6"},
		{"call|get-sum|a:=1|", "b= :6"},
		{"call|get-sum|c", ":6"},
		{"call|get-sum|a:=", ":4"},
		{"call|get-structured-content|location=C", "location=Chicago :4"},
		{"call|nosuch|", ":4"},
		{"prompt|args", "args-prompt :4"},
		{"prompt|args-prompt|", "city= state= :6"},
		{"prompt|args-prompt|state=x|", "city= :6"},
		{"prompt|nosuch|", ":4"},
		{"read|ui:", "ui://demo/weather.html :4"},
		{"read|ui://demo/weather.html|", ":4"},
		{"describe|get-sum", "get-sum :4"},
		{"describe|tem", "template :4"},
		{"describe|prompt|s", "simple-prompt :4"},
		{"describe|get-sum|", ":4"},
		{"complete|", "prompt template :4"},
		{"complete|prompt|s", "simple-prompt :4"},
		{"complete|tool|", ":4"},
		{"raw|tools/", "tools/list tools/call :4"},
		{"raw|tools/call|", ":0"},
		{"skills|get|re", "refunds :4"},
		{"skills|get|skill:|", ":4"},
		{"list|to", "tools :4"},
		{"--log-level|deb", "debug :4"},
		{"list|--|x", ":0"},
	} {
		if got := offered(env, "-s|demo|"+c.line); got != c.want {
			t.Errorf("%s: got %s", c.line, got)
		}
	}
}

// The names that a remembered session listed are offered without a request, and so are the sessions
// and servers.
func TestWordsOfASession(t *testing.T) {
	dir := t.TempDir()
	env := clitest.Env(dir)
	t.Chdir(dir)
	server := servers.ForTest(t)
	if err := server.Demo(); err != nil {
		t.Fatal(err)
	}
	const file = `{"mcpServers":{"mine":{"url":"http://127.0.0.1:1/mcp"},"odd;name":{"url":"http://127.0.0.1:1/mcp"}}}`
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", server.URL("/mcp"), "--as", "work"}, {"list"}, {"list", "prompts"}} {
		if out := run(env, args...); out.Code != 0 {
			t.Fatalf("%q: %+v", args, out)
		}
	}
	server.Stop()
	for _, c := range []struct{ line, want string }{
		{"call|get-su", "get-sum :4"},
		{"call|get-sum|", "a= b= :6"},
		{"prompt|args", "args-prompt :4"},
		{"-s|w", "work :4"},
		{"-s|d", "demo :4"},
		{"-s|mi", "mine :4"},
		{"-s|odd", ":4"},
		{"sessions|use|", "work :4"},
		{"sessions|use|work|", ":4"},
		{"list|-s|none|", "tools prompts resources templates skills all :4"},
		{"call|-s|none|", ":4"},
	} {
		if got := offered(env, c.line); got != c.want {
			t.Errorf("%s: got %s", c.line, got)
		}
	}
}

// Arguments without names are refused, with a command line that has the names.
func TestArgumentsWithoutNames(t *testing.T) {
	env := clitest.Env(t.TempDir())
	const shows = "; mcpc -s demo describe tool get-sum shows the names"
	for _, c := range []struct{ line, hint string }{
		{"call get-sum 1 2", "arguments need names: mcpc -s demo call get-sum a=1 b=2"},
		{"call get-sum b=1 2", "arguments need names: mcpc -s demo call get-sum b=1 a=2"},
		{"call get-sum 1 2 3", "arguments need names: mcpc -s demo call get-sum a=1 b=2 NAME=3" + shows},
		{"call get-sum a:1 b:2", "did you mean mcpc -s demo call get-sum a=1 b=2?"},
		{"call get-sum a = 1", "did you mean mcpc -s demo call get-sum a=1?"},
		{"call get-sum a 1 b 2", "did you mean mcpc -s demo call get-sum a=1 b=2?"},
		{"call get-sum a= 1", "did you mean mcpc -s demo call get-sum a=1?"},
		{"call nosuch x:1", "did you mean mcpc -s demo call nosuch x=1?"},
		{"call nosuch a 1", "arguments need names: mcpc -s demo call nosuch NAME=VALUE; mcpc -s demo list tools shows the names"},
		{"call nosuch 1", "arguments need names: mcpc -s demo call nosuch NAME=1; mcpc -s demo list tools shows the names"},
		{"prompt args-prompt Bern", "arguments need names: mcpc -s demo prompt args-prompt city=Bern"},
	} {
		out := run(env, append([]string{"-s", "demo"}, strings.Fields(c.line)...)...)
		if !strings.HasSuffix(out.Stderr, "hint: "+c.hint+"\n") || out.Code != 2 {
			t.Errorf("%s: exit code %d\n%s", c.line, out.Code, out.Stderr)
		}
	}
}
