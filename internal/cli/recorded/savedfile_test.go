package recorded_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/servers"
)

// in returns a function that runs the words of a line in a directory of the test's own.
func in(t *testing.T) func(line string) clitest.Output {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	return func(line string) clitest.Output {
		t.Helper()
		return clitest.MCPC(t, []string{"MCPC_STATE=" + filepath.Join(dir, "state")}, strings.Fields(line)...)
	}
}

func fileText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A call is added to the file as a step that expects the same kind of outcome.
func TestCallsAreSavedAsSteps(t *testing.T) {
	mcpc := in(t)
	for _, c := range []struct{ line, note string }{
		{
			"-s demo call get-sum a=1 b=2 --save x.mcpc.yaml",
			"saved as step 1 of x.mcpc.yaml; run it with: mcpc run x.mcpc.yaml; --expect-result also saves the result\n",
		},
		{
			"-s demo call get-sum a=x --no-validate --save x.mcpc.yaml",
			"saved as step 2 of x.mcpc.yaml, which expects the outcome tool_error; run it with: mcpc run x.mcpc.yaml\n",
		},
		{"-s demo call nosuch a=1 --save x.mcpc.yaml", "not saved: the call was not sent\n"},
		{
			"-s demo call echo message=hi --yes --expect-result --save x.mcpc.yaml",
			"saved as step 3 of x.mcpc.yaml; run it with: mcpc run x.mcpc.yaml --yes\n",
		},
	} {
		if out := mcpc(c.line); !strings.Contains(out.Stderr, "mcpc: note: "+c.note) {
			t.Errorf("%s: got %s", c.line, out.Stderr)
		}
	}
	want := `server: demo
steps:
  - call: get-sum
    args:
      a: 1
      b: 2
  - call: get-sum
    args:
      a: x
    validate: false
    expect:
      kind: tool_error
  - call: echo
    args:
      message: hi
    expect:
      result:
        content:
          - type: text
            text: 'Echo: hi'
`
	if got := fileText(t, "x.mcpc.yaml"); got != want {
		t.Errorf("got\n%s", got)
	}
}

// A step that is saved twice expects what both results have in common.
func TestExpectationsOfTwoResults(t *testing.T) {
	mcpc := in(t)
	server := servers.ForTest(t)
	const call = " call t --save x.mcpc.yaml --expect-result"
	for n, result := range []string{
		`{"content":[{"type":"text","text":"a"}],"structuredContent":{"same":1,"other":"x","list":[1,2]}}`,
		`{"content":[{"type":"text","text":"a"}],"structuredContent":{"same":1,"other":"y","list":[1,3]}}`,
	} {
		if err := server.Play("tool t\non tools/call\n    result " + result + "\n"); err != nil {
			t.Fatal(err)
		}
		out := mcpc("-s " + server.URL("/mcp") + call)
		if again := strings.Contains(out.Stderr,
			"step 1 of x.mcpc.yaml now expects what both results have in common"); again != (n == 1) {
			t.Errorf("result %d: %s", n, out.Stderr)
		}
	}
	got := fileText(t, "x.mcpc.yaml")
	if !strings.Contains(got, "same: 1\n") || !strings.Contains(got, "other: '...'\n") ||
		!strings.Contains(got, "- 1\n") || !strings.Contains(got, "- '...'\n") || strings.Count(got, "- call: t") != 1 {
		t.Errorf("got\n%s", got)
	}
}

// A file has one server and one set of answers.
func TestFilesThatDoNotFit(t *testing.T) {
	mcpc := in(t)
	mcpc("-s demo call get-sum a=1 b=2 --save x.mcpc.yaml")
	for name, text := range map[string]string{"bad.mcpc.yaml": "steps: [", "list.mcpc.yaml": "server: demo\nsteps: []\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		line, stderr string
		code         int
	}{
		{
			"-s http://127.0.0.1:1/ call get-sum a=1 b=2 --save x.mcpc.yaml",
			"--save x.mcpc.yaml: the file is for demo, and the call is for http://127.0.0.1:1/\nhint: --save with another file\n", 2,
		},
		{
			"-s demo call get-sum a=1 b=2 --answer-defaults --save x.mcpc.yaml",
			"the call has answers to server requests, and the file has none", 2,
		},
		{"-s demo call get-sum a=1 b=2 --save bad.mcpc.yaml", "bad.mcpc.yaml", 2},
		{"-s demo call get-sum a=1 b=2 --save none/x.mcpc.yaml", "--save: no such directory: none\n", 13},
	} {
		if out := mcpc(c.line); out.Code != c.code || !strings.Contains(out.Stderr, c.stderr) || out.Stdout != "" {
			t.Errorf("%s: exit code %d, %s%s", c.line, out.Code, out.Stdout, out.Stderr)
		}
	}
	if got := fileText(t, "x.mcpc.yaml"); strings.Count(got, "- call:") != 1 {
		t.Errorf("the file was changed:\n%s", got)
	}
	mcpc("-s demo call trigger-elicitation-request --answer-defaults --save y.mcpc.yaml")
	if got := fileText(t, "y.mcpc.yaml"); !strings.Contains(got, "answer-defaults: true") {
		t.Errorf("no answers in\n%s", got)
	}
	out := mcpc("-s demo call get-sum a=1 b=2 --decline --save y.mcpc.yaml")
	if out.Code != 2 || !strings.Contains(out.Stderr, "the file's answers differ from the call's") {
		t.Errorf("exit code %d, %s", out.Code, out.Stderr)
	}
}

// Recorded exchanges become steps; a secret becomes a variable of the environment.
func TestRecordedExchangesAsSteps(t *testing.T) {
	mcpc := in(t)
	server := servers.ForTest(t)
	if err := server.Demo(); err != nil {
		t.Fatal(err)
	}
	url := server.URL("/mcp")
	for _, line := range []string{
		"-s URL -H X-One:1 -H Authorization:Bearer_abcdefgh12345 call get-sum a=1 b=2",
		"-s URL prompt simple-prompt",
		"-s URL read demo://resource/static/document/features.md",
		"-s URL raw no/such",
		"-s URL list prompts",
		"-s demo call trigger-elicitation-request --answer-defaults",
		"-s http://127.0.0.1:1/ list",
	} {
		mcpc(strings.ReplaceAll(line, "URL", url))
	}
	for _, c := range []struct{ number, text string }{
		{"1", "server: URL\nheaders:\n  Authorization: ${env.MCPC_TOKEN}\n  X-One: \"1\"\n"},
		{"1", "steps:\n  - call: get-sum\n    args:\n      a: 1\n      b: 2\n"},
		{"2", "steps:\n  - prompt: simple-prompt\n"},
		{"3", "steps:\n  - read: demo://resource/static/document/features.md\n"},
		{"4", "steps:\n  - raw: no/such\n    expect:\n      kind: rpc_error\n"},
		{"5", "steps:\n  - list: prompts\n"},
		{"6", "server: demo\nanswer-defaults: true\nsteps:\n  - call: trigger-elicitation-request\n"},
	} {
		out := mcpc("export " + c.number + " --as mcpc-yaml")
		got := strings.ReplaceAll(out.Stdout, url, "URL")
		if out.Code != 0 || !strings.Contains(got, c.text) {
			t.Errorf("%s: exit code %d\n%s%s", c.number, out.Code, got, out.Stderr)
		}
	}
	if out := mcpc("export 1.1 --as mcpc-yaml"); out.Code == 0 {
		t.Errorf("a handshake is a step: %s", out.Stdout)
	}
}

// The flags that answer a server come from the file.
func TestAnswersInFiles(t *testing.T) {
	mcpc := in(t)
	const extension = `--extension com.example/x={"a":1}`
	mcpc(`-s demo call get-sum a=1 b=2 --answer {"name":"x"} --root . ` + extension + " --save x.mcpc.yaml")
	got := fileText(t, "x.mcpc.yaml")
	for _, text := range []string{
		"answer:\n  name: x\n", "roots:\n  - .\n",
		"extensions:\n  - com.example/x={\"a\":1}\n",
	} {
		if !strings.Contains(got, text) {
			t.Errorf("%q is missing in\n%s", text, got)
		}
	}
	mcpc("-s demo call get-sum a=1 b=2 --on-sampling true --save y.mcpc.yaml")
	if got := fileText(t, "y.mcpc.yaml"); !strings.Contains(got, "on-sampling: ") {
		t.Errorf("no command in\n%s", got)
	}
}

// The calls of another client are steps that need no editing: fields that its HTTP library adds are
// no header fields of the file, and a call that succeeded is validated.
func TestCallsOfAnotherClient(t *testing.T) {
	mcpc := in(t)
	entry := func(time, request, response string) string {
		headers := `{"name":"accept-language","value":"*"},{"name":"sec-fetch-mode","value":"cors"},{"name":"user-agent","value":"node"},` +
			`{"name":"content-type","value":"application/json"},{"name":"x-own","value":"1"}`
		return `{"startedDateTime":"2026-01-01T00:00:0` + time + `Z","time":5,"request":{"method":"POST","url":"https://mcp.example/mcp","headers":[` +
			headers + `],"postData":{"mimeType":"application/json","text":` + strconv.Quote(request) +
			`}},"response":{"status":200,"headers":[{"name":"content-type","value":"application/json"}],` +
			`"content":{"mimeType":"application/json","text":` + strconv.Quote(response) + `}}}`
	}
	har := `{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[` +
		entry("1", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"good","arguments":{"a":1}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`) + "," +
		entry("2", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"bad","arguments":{}}}`,
			`{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}`) + `]}}`
	if err := os.WriteFile("sdk.har", []byte(har), 0o600); err != nil {
		t.Fatal(err)
	}
	mcpc("import sdk.har -o sdk.jsonl")
	out := mcpc("export sdk.jsonl --as mcpc-yaml")
	want := "server: https://mcp.example/mcp\nheaders:\n  x-own: \"1\"\nsteps:\n  - call: good\n    args:\n      a: 1\n" +
		"  - call: bad\n    args: {}\n    validate: false\n    expect:\n      kind: rpc_error\n"
	if out.Code != 0 || out.Stdout != want {
		t.Errorf("exit code %d\n%s%s\nwant\n%s", out.Code, out.Stdout, out.Stderr, want)
	}
}
