package canary

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/cli/traffic"
	"mcpc/internal/jsonraw"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
	"mcpc/internal/wire"
)

// A declared is what a server has in its lists, results, errors and messages: secrets.
type declared struct {
	// Texts are JSON strings, one for each place.
	Texts []json.RawMessage
	// Learn is a JSON value that names secrets, and is in each message.
	Learn json.RawMessage
	// Lines are the values of header fields, and end in standard error.
	Lines []string
}

// declaring is a server on standard input and output with what is in the file that is its argument.
func declaring() {
	raw, err := os.ReadFile(os.Args[1])
	var d declared
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<22)
	for in.Scan() {
		m := wire.ParseMessage(in.Bytes())
		if m.Kind != wire.Request {
			continue
		}
		params, _ := m.ParamMembers()
		dies := params.Text("name") == "die"
		if m.Method == "tools/call" {
			fmt.Fprintln(os.Stderr, strings.Join(d.Lines, "\n"))
		}
		if dies {
			os.Exit(3)
		}
		for _, line := range d.answer(m) {
			fmt.Println(line)
		}
	}
}

// serve is the same server over HTTP, with secrets in the fields of its answers.
func (d *declared) serve(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		m := wire.ParseMessage(raw)
		for i, line := range d.Lines {
			w.Header().Set(fmt.Sprintf("X-Trace-%d", i), line)
		}
		params, _ := m.ParamMembers()
		switch {
		case m.Kind != wire.Request:
			w.WriteHeader(http.StatusAccepted)
			return
		case params.Text("name") == "die":
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, "<html><title>%s</title></html>", strings.Join(d.Lines, "\n"))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, line := range d.answer(m) {
			fmt.Fprintf(w, "data: %s\n\n", line)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// answer returns the messages that answer a request.
func (d *declared) answer(m *wire.Message) []string {
	text := func(place int) string { return string(d.Texts[place%len(d.Texts)]) }
	tool := func(name, about string) string {
		return `{"name":` + name + `,"description":` + about + `,"annotations":{"readOnlyHint":true},` +
			`"inputSchema":{"type":"object","properties":{"x":{"type":"string","default":` + text(2) + `}},"` +
			`examples":[{` + text(3) + `:1}]}}`
	}
	result := ""
	switch m.Method {
	case "initialize":
		result = `"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{},"logging":{}},` +
			`"serverInfo":{"name":"n","version":"1"},"instructions":` + text(0)
	case "tools/list":
		result = `"tools":[` + tool(`"a b"`, text(1)) + `,` + tool(`"good"`, text(4)) + `,` + tool(`"die"`, `"dies"`) + `,` +
			tool(`"bad"`, `7`) + `,` + tool(text(5), text(6)) + `]`
	case "resources/list":
		result = `"resources":[{"name":"r","uri":"x://h/?a=` + url.QueryEscape(d.Lines[0]) + `"},{"name":"bad","uri":` + text(4) + `}]`
	case "prompts/list":
		result = `"prompts":[{"name":"p","description":` + text(7) + `,"arguments":[{"name":` + text(8) + `,"required":"no"}]}]`
	case "tools/call":
		result = `"content":[{"type":"text","text":` + text(5) + `}],"structuredContent":{"a":` + text(2) + `,` + text(6) + `:1}`
	case "ping", "logging/setLevel":
		result = `"x":1`
	default:
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":%s,"data":{"a":%s,"l":%s}}}`, m.ID, text(3), text(4), d.Learn)}
	}
	note := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%s,"_meta":{"l":%s}}}`, text(1), d.Learn)
	last := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{%s,"_meta":{"l":%s}}}`, m.ID, result, d.Learn)
	if m.Method == "tools/call" {
		return []string{note, last}
	}
	return []string{last}
}

// declaredCanaries returns every canary; the server names the last third.
func declaredCanaries() (d *declared) {
	d = &declared{}
	for place := range canarySpellings {
		d.Texts = append(d.Texts, json.RawMessage(`"`+spelledAt(place)+`"`))
		d.Lines = append(d.Lines, someSpelledAt(place, manyCanaries*2/3))
	}
	var tokens []string
	for i := manyCanaries * 2 / 3; i < manyCanaries; i++ {
		tokens = append(tokens, fmt.Sprintf(`{"token":"%s"}`, manyCanary(i)))
	}
	d.Learn = json.RawMessage("[" + strings.Join(tokens, ",") + "]")
	return d
}

// declaredKeys has every key in every form.
func declaredKeys(keys []string) (d *declared) {
	d = &declared{Learn: json.RawMessage(`[]`)}
	for place := range keyForms {
		d.Texts = append(d.Texts, json.RawMessage(jsonraw.Quote(keysAt(keys, place))))
		line := strings.NewReplacer("\r", " ", "\n", " ").Replace(keysAt(keys, place))
		d.Lines = append(d.Lines, line)
	}
	return d
}

// A reportBench runs the commands that read a server's lists and results, and looks for its secrets.
type reportBench struct {
	canaryBench
	find func(t *testing.T, where string, text []byte)
	// mark is a part of what a result on standard output must have.
	mark string
	// server are the words that name the server.
	server []string
	// hidden is a folder that is not looked at.
	hidden string
}

func (b *reportBench) file(name string) string { return filepath.Join(b.dir, name) }

// run runs a command and looks at its standard error, and at standard output if it is a report.
func (b *reportBench) run(report bool, args ...string) []byte {
	b.Helper()
	out, said, _ := b.mcpc("", args...) // some fail: the server breaks rules
	b.find(b.T, "standard error of "+strings.Join(args, " "), said)
	if report {
		b.find(b.T, "the report of "+strings.Join(args, " "), out)
	}
	if len(out) == 0 && len(said) == 0 {
		b.Errorf("%.300q says nothing", args)
	}
	return out
}

// on adds the words of the server.
func (b *reportBench) on(args ...string) []string {
	return append(append([]string{}, args...), b.server...)
}

// everything runs all commands, and looks at all files.
func (b *reportBench) everything(argument string) {
	b.Helper()
	plain := func(args ...string) {
		b.Helper()
		if out := b.run(false, args...); !bytes.Contains(out, []byte(b.mark)) {
			b.Errorf("the result of %q has no %s: %.300s", args[:2], b.mark, out)
		}
	}
	plain(b.on("call", "a b", argument, "--yes", "--no-validate", "--json", "-vvv", "--explain")...)
	plain(b.on("list", "all", "--json")...)
	b.run(false, b.on("call", "die", argument, "--yes", "--no-validate", "--json")...)
	b.run(false, b.on("call", "die", argument, "--yes", "--no-validate", "-vvv")...)
	b.run(false, b.on("raw", "x/y", "{}", "--json")...)
	b.run(false, b.on("read", "x://h", "-v")...)
	b.run(false, b.on("prompt", "p")...)
	b.run(false, b.on("call", "good", argument, "--yes", "--no-validate", "--save", b.file("s.mcpc.yaml"), "--expect-result", "--record", b.file("call.jsonl"))...)
	b.run(true, b.on("check", "--json", "--sarif", b.file("c.sarif"), "--junit", b.file("c.xml"), "--markdown", b.file("c.md"),
		"--baseline", b.file("base.yaml"), "--update-baseline", "--badge", b.file("c.svg"), "--record", b.file("check.jsonl"))...)
	b.run(true, b.on("check", "--hosts")...)
	b.run(true, b.on("check", "--deep", "--json", "--call", "good={}", "--call", "die={}")...)
	b.run(true, "check", b.file("check.jsonl"), "--json", "--sarif", b.file("d.sarif"), "--junit", b.file("d.xml"), "--markdown", b.file("d.md"))
	b.run(true, b.on("diff", "--lock", "-o", b.file("lock.json"))...)
	if out := b.run(true, b.on("diff", b.file("lock.json"), "--markdown", b.file("diff.md"))...); !bytes.Contains(out, []byte("nothing changed")) {
		b.Errorf("diff says %.500s", out)
	}
	b.run(true, b.on("diff", "--lock", "-o", b.file("lock1.json"), "--no-record")...)
	b.run(true, "diff", "demo", b.file("lock.json"), "--markdown", b.file("diff1.md"), "--long")
	for _, how := range []string{"--json", "--github", "--side", "--long"} {
		b.run(true, b.on("diff", "demo", how, "--markdown", b.file("diff2.md"), "--write-accept", b.file("a"+how+".mcpc-accept.yaml"))...)
	}
	b.run(true, b.on("bench", "good", "--requests", "3", "--yes", "--samples", b.file("samples"), "--junit", b.file("b.xml"), "--expect", "p50<1ns", "--json")...)
	b.run(true, b.on("bench", "die", "--requests", "3", "--yes", "--samples", b.file("samples2"), "--junit", b.file("b2.xml"))...)
	b.run(true, b.on("run", b.file("s.mcpc.yaml"), "--yes", "--junit", b.file("r.xml"))...)
	b.run(true, b.on("run", b.file("s.mcpc.yaml"), "--yes", "--json")...)
	b.run(true, b.on("replay", b.file("call.jsonl"), "--yes", "--junit", b.file("p.xml"), "--sarif", b.file("p.sarif"),
		"--markdown", b.file("p.md"), "--update", b.file("new.jsonl"))...)
	b.run(true, b.on("replay", b.file("check.jsonl"), "--yes", "--match", "exact", "--json")...)
	b.run(true, "replay", b.file("call.jsonl"), "--yes", "--to", "demo", "--json")
	keep := []string{"init", "--as", "kept", "--keep"}
	if b.server[0] == "-s" { // which the server keeps
		keep = keep[:3]
	}
	b.run(false, b.on(keep...)...)
	plain("info", "--json", "-s", "kept")
	b.run(true, "sessions", "--json")
	b.run(false, "close", "kept")
	b.recorded()
	b.page()
	files := 0
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() || path == b.file("values") {
			return err
		}
		raw, err := os.ReadFile(path)
		files++
		b.find(b.T, path, raw)
		return err
	})
	if err != nil || files < 40 {
		b.Errorf("%d files: %v", files, err)
	}
}

// recorded runs the commands that read recordings.
func (b *reportBench) recorded() {
	b.Helper()
	for _, args := range [][]string{{"log", "--json"}, {"log"}, {"stats"}, {"stats", "--json"}, {"log", "--file", b.file("check.jsonl"), "--json"}} {
		b.run(true, args...)
	}
	for _, which := range []string{b.file("call.jsonl"), b.file("check.jsonl")} {
		for _, args := range [][]string{{"show", which + "#1", "--json"}, {"show", which + "#2"}, {"show", which + "#3", "--raw"}} {
			b.run(true, args...)
		}
		for _, form := range traffic.ExportFormats {
			switch form {
			case "bundle":
				b.run(true, "export", which, "--as", form, "--yes", "-o", which+".mcpcz.html")
			case "k6", "har":
				b.run(true, "export", which, "--as", form, "-o", which+"."+form)
			default:
				b.run(true, "export", which, "--as", form)
			}
		}
	}
	b.run(true, "import", b.file("call.jsonl")+".har", "-o", b.file("imported.jsonl"))
	b.run(true, "log", "--file", b.file("imported.jsonl"), "--json")
}

// page asks the page of mcpc inspect.
func (b *reportBench) page() {
	b.Helper()
	p := (&clitest.Home{Home: program.Home{T: b.T, Dir: b.dir, Env: b.env()}}).Page()
	for _, ask := range []string{"status", "rows?from=0&count=100", "talk", "conversations", "tools", "streams", "secrets", "lanes", "row?key=1.1", "row?key=1.2", "row?key=1.3"} {
		b.find(b.T, "the page, asked for "+ask, p.Send("GET", "/api/"+ask, ""))
	}
	for _, form := range []string{"har", "jsonl", "html", "markdown"} {
		b.find(b.T, "the page's export as "+form, p.Post("/api/do/export", `{"form":"`+form+`","from":0,"count":1000}`))
	}
}

// TestNoSecretIsInAFileOrReport looks for 60 canaries in each spelling, and for 20 keys in six forms, in
// every file and report of the commands that read a server's lists and results, over stdio and HTTP.
func TestNoSecretIsInAFileOrReport(t *testing.T) {
	keys := privateKeys(t)
	canaryArgument := "x=" + someSpelledAt(14, manyCanaries*2/3)
	for _, c := range []struct {
		name, mark, argument string
		d                    *declared
		find                 func(t *testing.T, where string, text []byte)
	}{
		{
			"keys", "PRIVATE KEY", "x=" + keysAt(keys, 0), declaredKeys(keys),
			func(t *testing.T, where string, text []byte) { findKeys(t, where, keys, text) },
		},
		{"canaries", "cAn/", canaryArgument, declaredCanaries(), findManyCanaries},
	} {
		for _, over := range []string{"stdio", "http"} {
			t.Run(c.name+" over "+over, func(t *testing.T) {
				b := &reportBench{canaryBench: canaryBench{t, t.TempDir()}, find: c.find, mark: c.mark, hidden: t.TempDir()}
				t.Chdir(b.dir)
				b.writeValues()
				switch source := filepath.Join(b.hidden, "declared.json"); over {
				case "stdio":
					raw, err := json.Marshal(c.d)
					if err == nil {
						err = os.WriteFile(source, raw, 0o600)
					}
					if err != nil {
						t.Fatal(err)
					}
					b.server = []string{"--", "declaring", source}
				default:
					b.server = []string{"-s", c.d.serve(t) + "?note=" + url.QueryEscape(c.d.Lines[1]), "-H", "X-Note: " + c.d.Lines[2], "-H", "X-Other: " + c.d.Lines[3]}
				}
				b.everything(c.argument)
			})
		}
	}
}

// writeValues writes the file of values to hide.
func (b canaryBench) writeValues() {
	b.Helper()
	var values strings.Builder
	for i := manyCanaries / 3; i < manyCanaries*2/3; i++ {
		fmt.Fprintln(&values, manyCanary(i))
	}
	if err := os.WriteFile(filepath.Join(b.dir, "values"), []byte(values.String()), 0o600); err != nil {
		b.Fatal(err)
	}
}

// TestExportFindsKeys asks mcpc export --check for each form of a key.
func TestExportFindsKeys(t *testing.T) {
	b := clitest.NewHome(t)
	keys := privateKeys(t)[:1]
	for _, form := range keyForms {
		name := filepath.Join(b.Dir, "one")
		if err := os.WriteFile(name, []byte(form(keys[0])), 0o600); err != nil {
			t.Fatal(err)
		}
		out := b.MCPC("export", "--check", name).Stdout
		if findKeys(t, "the report", keys, []byte(out)); !strings.Contains(out, "one:1:1: ") {
			t.Errorf("export --check of %.60q says %s", form(keys[0]), out)
		}
	}
}
