//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/capture"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mock"
)

// A capture may be a stranger's. Whatever it contains, each command comes to an
// ending of its table, no terminal takes it for a command, and exported commands
// run nothing of it.

// evil is in every place for a text: escapes, control bytes, a line that a shell
// or a Markdown would take for its own.
const evil = "evil\x1b[2J\x1b]0;t\x07\rEVIL\u202e\u009b31m\n```\n$(touch OWNED)`touch OWNED`'; touch OWNED; '\"\n# x"

func quotedEvil() string { return string(jsonraw.Quote(evil)) }

// hostileCaptures are files by their names.
func hostileCaptures() map[string]string {
	e := quotedEvil()
	head := `{"mcpc-traffic":1,"mcpc":` + e + `,"started":"2026-01-01T00:00:00Z","target":` + e + `,"argv":["mcpc",` + e + `,"--",` + e + `],"by":"command","of":` + e + "}\n"
	frame := func(n int, dir, kind, more string) string {
		return fmt.Sprintf(`{"seq":%d,"time":"2026-01-01T00:00:0%d.5Z","dir":%q,"kind":%q%s}`+"\n", n, n%10, dir, kind, more)
	}
	raw := func(text string) string { return `,"raw":` + string(jsonraw.Quote(text)) }
	call := `{"jsonrpc":"2.0","id":` + e + `,"method":` + e + `,"params":{"name":` + e + `,"arguments":{` + e + `:` + e + `}}}`
	answer := `{"jsonrpc":"2.0","id":` + e + `,"result":{"content":[{"type":"text","text":` + e + `}],` + e + `:1}}`
	heads := `,"stream":1,"http":{"proto":` + e + `,"method":` + e + `,"url":` + e + `,"fields":[[` + e + `,` + e + `],["@/etc/passwd","x"],["X-A\nB","y"],["X",` + e + `]]}`
	answered := `,"stream":1,"http":{"proto":"HTTP/1.1","status":-7,"fields":[["Content-Type",` + e + `]],"timing":{"firstByte":-5000,"dns":-1,"connect":-9223372036854775808,"tls":1}}`
	tail := `{"end":{"exit":99999,"kind":` + e + `,"method":` + e + `,"name":` + e + `,"took":-5,"text":` + e + `,"hint":` + e + `,"findings":[{"rule":` + e + `,"level":"x","where":` + e + `,"text":` + e + `,"want":` + e + `,"got":` + e + `}]}}` + "\n"
	deep := strings.Repeat("[", 100_000)
	return map[string]string{
		"everywhere": head + frame(1, "sent", "head", heads) + frame(2, "sent", "body", `,"stream":1`+raw(call)) + frame(3, "received", "head", answered) +
			frame(4, "received", "event", `,"stream":1,"sse":{"event":`+e+`,"id":`+e+`,"retry":-1}`+raw(answer)) +
			frame(5, "received", "closed", `,"stream":1,"close":{"by":"received","how":`+e+`,"text":`+e+`}`) + tail,
		"http": head + frame(1, "sent", "head", strings.Replace(heads, `"method":`+e+`,"url":`+e, `"method":"POST","url":"http://127.0.0.1:1/`+"$(touch OWNED)'[1-9]"+`"`, 1)) +
			frame(2, "sent", "body", `,"stream":1`+raw(call)) + frame(3, "received", "body", `,"stream":1`+raw(answer)) + tail,
		"stdio": head + frame(1, "sent", "body", raw(call)) + frame(2, "received", "stderr", raw(evil)) + frame(3, "received", "noise", raw(evil)) +
			frame(4, "received", "body", raw(answer)) + tail,
		"deep": head + frame(1, "sent", "body", raw(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":`+deep+`}}`)) +
			frame(2, "sent", "body", raw(`{"jsonrpc":"2.0","id":2,"method":"x","params":{}}`)) + frame(3, "received", "body", raw(deep)) +
			`{"kind":` + deep + "\n" + `{"end":` + deep + "\n",
		"ten heads":    strings.Repeat(head, 10) + frame(1, "sent", "body", raw(call)) + strings.Repeat(head, 3) + frame(1, "sent", "body", raw(call)) + tail + tail,
		"wrong types":  head + `{"seq":"x","time":7,"dir":"sent","kind":"body","stream":-3,"conn":1e9,"http":[],"sse":3,"close":"x","hidden":-1,"size":-99,"raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}"}` + "\n" + `{"dir":"sent","kind":"head","http":null}` + "\n" + `{"dir":"received","kind":"closed","close":null}` + "\n" + `{"dir":"received","kind":"event","sse":null,"raw":7}` + "\n[]\n7\nnull\n\"x\"\n{}\n" + `{"end":7}` + "\n" + `{"lost":-1}` + "\n" + `{"dir":"sent","kind":"body","raw64":"///"}` + "\n",
		"times":        head + frame(9, "sent", "body", raw(call)) + frame(1, "received", "body", raw(answer)) + strings.Replace(tail, `"took":-5`, `"took":-9223372036854775808,"time":"9999-12-31T23:59:59Z"`, 1),
		"huge line":    head + frame(1, "sent", "body", raw(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"`+strings.Repeat("é", 1<<20)+`"}}}`)) + frame(2, "received", "body", `,"raw64":"`+strings.Repeat("/", 1<<20)+`"`),
		"no time":      head + `{"dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"-rf\",\"arguments\":null}}"}` + "\n" + `{"dir":"received","kind":"body","raw64":"//4A"}` + "\n",
		"torn":         head + frame(1, "sent", "body", raw(call)) + `{"seq":2,"dir":"received","kind":"body","raw":"{`,
		"only a head":  head,
		"batch":        head + frame(1, "sent", "body", raw(`[`+call+`,{"jsonrpc":"2.0","id":2,"method":"y"},7]`)) + frame(2, "received", "body", raw(`[{"jsonrpc":"2.0","id":2,"error":{"code":9e99,"message":`+e+`}}]`)),
		"other format": "hello\n",
		"a version":    `{"mcpc-traffic":2}` + "\n",
		"no date":      strings.Replace(head, "2026-01-01", "x", 1),
		"empty":        "",
	}
}

// hostileLooks are the commands, and how they may end.
var hostileLooks = []struct {
	args   []string
	ending *regexp.Regexp
}{
	{[]string{"log", "--file", "FILE"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"log", "--file", "FILE", "--jsonl", "evil"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"show", "FILE"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"show", "FILE#1", "--raw"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"show", "FILE#1", "--json"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"show", "FILE#1", "--explain"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"stats", "--file", "FILE"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "har"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "jsonl"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "markdown"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "mcpc"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "curl"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "mock-script"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "k6", "-o", "FILE.load"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"export", "FILE", "--as", "bundle", "--yes", "--note", "x", "-o", "FILE.mcpcz"}, regexp.MustCompile(`^[02]$`)},
	{[]string{"resend", "FILE#1"}, regexp.MustCompile(`^(2|12)$`)},
	{[]string{"resend", "FILE#1", "--to", "demo"}, regexp.MustCompile(`^([02368]|12)$`)},
}

func TestHostileCaptures(t *testing.T) {
	t.Parallel()
	schema := harSchema(t)
	for name, text := range hostileCaptures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			file := filepath.Join(b.dir, "capture")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, look := range hostileLooks {
				args := []string{"mcpc"}
				for _, word := range look.args {
					args = append(args, strings.Replace(word, "FILE", file, 1))
				}
				out, ended := b.run(args...)
				if !look.ending.MatchString(ended) {
					t.Errorf("%q ended with %s, want %s", look.args, ended, look.ending)
				}
				if ended != "0" {
					continue
				}
				switch args[len(args)-1] {
				case "har":
					if findings, err := schema.Check([]byte(out)); err != nil || len(findings) > 0 {
						t.Errorf("the HAR breaks its schema: %v %v", err, findings)
					}
				case "jsonl":
					isCapture(t, out)
				case "mock-script":
					if _, err := mock.Parse(out); err != nil {
						t.Errorf("%v\n%s", err, out)
					}
				case file + ".load":
					isLoadTest(t, file+".load")
				case file + ".mcpcz":
					if again, ended := b.run("mcpc", "log", "--jsonl", "--file", file+".mcpcz"); ended != "0" || again == "" {
						t.Errorf("log of the bundle ended with %s: %s", ended, again)
					}
				case "curl", "mcpc":
					b.runsNothing(out)
				}
			}
		})
	}
}

// isLoadTest reads the data of a load test.
func isLoadTest(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "data.jsonl"))
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(data)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

// isCapture reads back what was exported as a capture.
func isCapture(t *testing.T, text string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := capture.Open(name); err != nil || len(c.Rows()) == 0 {
		t.Errorf("not a capture: %v", err)
	}
}

// runsNothing runs a script with curl, mcpc and all servers replaced by nothing.
func (b *bench) runsNothing(script string) {
	b.t.Helper()
	name := filepath.Join(b.dir, "script.sh")
	inert := "curl() { :; }\nmcpc() { :; }\nsleep() { :; }\n"
	if err := os.WriteFile(name, []byte(inert+script), 0o600); err != nil {
		b.t.Fatal(err)
	}
	_, _ = b.run("sh", name)
	if _, err := os.Stat(filepath.Join(b.dir, "OWNED")); err == nil {
		b.t.Errorf("the script ran a recorded text:\n%s", script)
	}
}

func TestHostileCapturesOnATerminal(t *testing.T) {
	t.Parallel()
	captures := hostileCaptures()
	for _, name := range []string{"everywhere", "http", "stdio", "wrong types", "batch"} {
		text := captures[name]
		file := filepath.Join(t.TempDir(), "capture")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, look := range hostileLooks {
			argv := []string{"mcpc"}
			for _, word := range look.args {
				argv = append(argv, strings.Replace(word, "FILE", file, 1))
			}
			tm := onTerminal(t, 80, nil, argv...)
			out := tm.endsSomehow()
			if bad := forbidden(out); bad != "" {
				t.Errorf("%s: %q lets %s through:\n%.600q", name, look.args, bad, out)
			}
		}
	}
}
