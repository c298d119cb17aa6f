package recorded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/servers"
)

// A place is a state directory for command lines, and a demo server.
type place struct {
	t   *testing.T
	url string
	env []string
}

func begin(t *testing.T) *place {
	t.Helper()
	server := servers.ForTest(t)
	if err := server.Demo(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	return &place{t, server.URL("/mcp"), []string{"MCPC_STATE=" + filepath.Join(dir, "state")}}
}

// mcpc runs the words of a line, where URL means the demo server.
func (p *place) mcpc(line string) clitest.Output {
	p.t.Helper()
	return clitest.MCPC(p.t, p.env, strings.Fields(strings.ReplaceAll(line, "URL", p.url))...)
}

// records runs command lines that are recorded as runs 1, 2 and so on.
func (p *place) records(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		p.mcpc(line)
	}
}

// contains checks what a command line prints; URL in a text is the demo server.
func (p *place) contains(line string, code int, stdout, stderr string) {
	p.t.Helper()
	out := p.mcpc(line)
	stdout = strings.ReplaceAll(stdout, "URL", p.url)
	stderr = strings.ReplaceAll(stderr, "URL", p.url)
	if out.Code != code || !strings.Contains(out.Stdout, stdout) || !strings.Contains(out.Stderr, stderr) {
		p.t.Errorf("%s: exit code %d\n%s%s\nwant %d, %q and %q", line, out.Code, out.Stdout, out.Stderr, code, stdout, stderr)
	}
}

// A word names a run, an exchange, a file or the last exchange; a word that names none of these is
// refused with a hint.
func TestWordsForRecordings(t *testing.T) {
	p := begin(t)
	p.contains("show last", 2, "", "nothing is recorded")
	p.records("-s URL call get-sum a=1 b=2", "-s demo call get-sum a=1 b=2 --record own.jsonl", "-s nosuch list")
	if err := os.WriteFile("text", []byte("no capture\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		word   string
		code   int
		stdout string
		stderr string
	}{
		{"1.4", 0, "#1.4  tools/call get-sum  ok", ""},
		{"1", 0, "#1.4  tools/call get-sum  ok", ""},
		{"own.jsonl#1", 0, "server/discover  ok", ""},
		{"own.jsonl", 0, "tools/call get-sum  ok", ""},
		{"own.jsonl#99", 2, "", "own.jsonl has no exchange 99, only 1 to "},
		{"99", 2, "", "no recording 99: it was not made, or was deleted\nhint: mcpc log lists the recorded runs"},
		{"1.99", 2, "", "run 1 has 4 exchanges\nhint: mcpc log lists them"},
		{"none.jsonl", 2, "", "no such file: none.jsonl"},
		{"text", 2, "", "text: not a capture"},
	} {
		p.contains("show "+c.word, c.code, c.stdout, c.stderr)
	}
}

// A filter that cannot be read shows the place, and the word that is meant.
func TestWrongFilters(t *testing.T) {
	p := begin(t)
	p.records("-s demo list")
	for _, c := range []struct{ words, stderr string }{
		{"metod:x", "the filter, column 1: unknown field \"metod\""},
		{"metod:x", "hint: did you mean method?"},
		{"xyzzy:x", "hint: mcpc help filters shows the language"},
		{"method:tools/list (", "the filter, column "},
	} {
		p.contains("log "+c.words, 2, "", c.stderr)
	}
	p.contains("log method:tools/list", 0, "tools/list", "")
	p.contains("log method:nothing", 0, "", "")
}

// An exchange in other forms sends the same again: bytes, or a command.
func TestExchangesAsCommands(t *testing.T) {
	p := begin(t)
	p.records(
		"-s URL -H Authorization:Bearer_abcdefgh12345 -H X-One:1 call get-sum a=1 b=2",
		"-s URL call get-sum a=x --no-validate",
		"-s URL raw ping",
		"-s URL --protocol 2025-11-25 prompt simple-prompt",
		"-s URL read demo://resource/static/document/features.md",
		"-s demo call get-sum a=1 b=2 --yes",
		"-s URL info",
		"-s URL call trigger-elicitation-request --answer-defaults",
		"-s demo call get-sum a=1 b=2 -y",
	)
	for _, c := range []struct {
		line   string
		stdout string
	}{
		{"export 1 --as mcpc", "# 1.4: tools/call get-sum (ok)\nmcpc --protocol 2026-07-28 -s URL -H 'Authorization: '"},
		{"export 1 --as mcpc", `-H 'X-One: 1' call get-sum '{"a":1,"b":2}'`},
		{"export 1 --as curl", "curl -sSN URL \\\n  -H 'Accept: application/json, text/event-stream'"},
		{"export 1 --as curl", "\n  -H 'X-One: 1' \\\n  --data-raw '{"},
		{"export 2 --as mcpc", `call --no-validate get-sum '{"a":"x"}'`},
		{"export 3 --as mcpc", "raw ping"},
		{
			"export 4 --as mcpc",
			"mcpc --protocol 2025-11-25 -s URL raw prompts/get '{\"name\":\"simple-prompt\",\"arguments\":{}}'",
		},
		{"export 4 --as curl", "Mcp-Session-Id"},
		{"export 5 --as mcpc", `raw resources/read '{"uri":"demo://resource/static/document/features.md"}'`},
		{"export 6 --as mcpc", `mcpc --protocol 2026-07-28 -s demo call --yes get-sum '{"a":1,"b":2}'`},
		{"export 6 --as curl", "# read it before you run it: the last line starts the recorded command\n{ printf "},
		{"export 6 --as curl", "| mcpc demo --stdio"},
		{"export 8 --as mcpc", "call trigger-elicitation-request --answer-defaults"},
		{"export 9 --as mcpc", `mcpc --protocol 2026-07-28 -s demo call --yes get-sum '{"a":1,"b":2}'`},
	} {
		p.contains(c.line, 0, c.stdout, "")
	}
}

// Nothing in a recording is contacted or started because it was recorded: the user names the
// server.
func TestServersOfRecordedRequests(t *testing.T) {
	p := begin(t)
	p.records("-s URL call get-sum a=1 b=2", "-s demo call get-sum a=1 b=2", "-s URL list --protocol 2025-11-25")
	const refused = "refused by mcpc: resend needs --to, --allow-exec or a command after --\nhint: "
	for _, c := range []struct {
		line           string
		code           int
		stdout, stderr string
	}{
		{"resend 1", 12, "", refused + "mcpc resend 1 --to URL\n"},
		{"resend 2", 12, "", refused + "mcpc resend 2 --to demo\n"},
		{"resend 1 --to URL", 0, "The sum of 1 and 2 is 3.", ""},
		{"resend 1 --to demo", 0, "The sum of 1 and 2 is 3.", ""},
		{"resend 2 --allow-exec", 0, "The sum of 1 and 2 is 3.", ""},
		{"resend 1 --allow-exec", 2, "", "no server command is recorded there\nhint: mcpc resend 1 --to TARGET"},
		{"resend 1 --to demo -s demo", 2, "", "the server is given twice: --to and another argument"},
		{"resend 1 --to demo --allow-exec", 2, "", "the server is given twice"},
	} {
		p.contains(c.line, c.code, c.stdout, c.stderr)
	}
}

// A row is one JSON object, an exchange has its messages and frames as well.
func TestRowsAndExchangesAsJSON(t *testing.T) {
	p := begin(t)
	p.records("-s URL call get-sum a=1 b=2", "-s URL call nosuch --no-validate")
	for _, c := range []struct{ line, stdout string }{
		{
			"log --jq .exchanges[3]|.number,.method,.name,.channel,.exit,.http,.era,.dir",
			"1.4\ntools/call\nget-sum\nok\n0\n200\nmodern\nsent\n",
		},
		{"log --jq .exchanges[-1]|.exit", "6\n"},
		{
			"show 1.4 --jq .exchange.number,.request.params.name,.response.result.content[0].text,(.frames|length)",
			"1.4\nget-sum\nThe sum of 1 and 2 is 3.\n",
		},
		{"show 1.4 --jq .findings,.check", "null\nnull\n"},
	} {
		p.contains(c.line, 0, c.stdout, "")
	}
	for _, fact := range []string{
		"outcome      rpc_error (exit code 6), error -32602", "http status",
		"command      mcpc -s URL call nosuch --no-validate",
	} {
		p.contains("show 2", 0, fact, "")
	}
}
