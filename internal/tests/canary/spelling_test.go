package canary

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/cli/traffic"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
	"mcpc/internal/wire"
)

// manyCanaries is the number of secrets: a third are in the environment, a third in the
// redact file, and a third are learnt from the server alone, after a flood of others.
const (
	manyCanaries = 60
	manyTokens   = 1000
)

func manyCanary(i int) string { return fmt.Sprintf("cAn/%02d+x7Qz~K%02d", i, i*7%97) }

// canarySpellings write a text without changing what JSON makes of it.
var canarySpellings = []func(text string) string{
	func(t string) string { return t },
	func(t string) string { return eachByte(t, `\u%04x`) },
	func(t string) string { return strings.ReplaceAll(t, "/", `\/`) },
	func(t string) string { return eachByte(t, `\\u%04X`) },
	func(t string) string { return eachByte(t, "%%%02X") },
	func(t string) string { return eachByte(t, "%%%02x") },
	func(t string) string { return eachByte(t, "&#%d;") },
	func(t string) string { return eachByte(t, "&#x%x;") },
	func(t string) string { return base64.StdEncoding.EncodeToString([]byte("a" + t)) },
	func(t string) string { return base64.RawURLEncoding.EncodeToString([]byte("ab" + t + "cd")) },
	func(t string) string { return hex.EncodeToString([]byte(t)) },
	func(t string) string { return strings.ToUpper(hex.EncodeToString([]byte(t))) },
	func(t string) string { return eachByte(t, `\\u{%x}`) },
	func(t string) string { return eachByte(t, `\\%03o`) },
}

func eachByte(text, form string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, form, c)
	}
	return b.String()
}

// spelledAt is every canary, each in another spelling, and in another one at each place.
func spelledAt(place int) string { return someSpelledAt(place, manyCanaries) }

// someSpelledAt has the first ones only.
func someSpelledAt(place, many int) string {
	var all []string
	for i := range many {
		all = append(all, canarySpellings[(i+place)%len(canarySpellings)](manyCanary(i)))
	}
	return strings.Join(all, ",")
}

// manyForms returns the byte strings to search for: each encoding of each canary, plain and
// quoted in JSON, without the characters that it shares with neighbouring bytes.
var manyForms = sync.OnceValue(func() (all [][]byte) {
	for i := range manyCanaries {
		for j, spelled := range canarySpellings {
			text := spelled(manyCanary(i))
			if j == 8 || j == 9 {
				text = text[4 : len(text)-4]
			}
			all = append(all, []byte(text))
			if quoted := string(jsonraw.Quote(text)); len(quoted) != len(text)+2 {
				all = append(all, []byte(quoted[1:len(quoted)-1]))
			}
		}
	}
	return all
})

var canaryFinder = sync.OnceValue(func() *finder { return newFinder(manyForms()) })

// findManyCanaries reports a canary in a text, in whatever form.
func findManyCanaries(t *testing.T, where string, text []byte) {
	t.Helper()
	if form, at := canaryFinder().find(text); at >= 0 {
		t.Errorf("%s holds %s: ...%s", where, form, text[max(0, at-80):min(len(text), at+40)])
	}
}

// leaks answers a request: with lines that are messages; the last is the response.
func leaks(m *wire.Message) (lines []string) {
	answer := func(body string) { lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, body)) }
	note := func(method, body string) {
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/%s","params":{%s}}`, method, body))
	}
	switch m.Method {
	case "initialize":
		answer(`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"n","version":"1"}}`)
	case "x/flood": // names them, and then the last of the canaries
		var tokens []string
		for i := range manyTokens {
			tokens = append(tokens, fmt.Sprintf(`{"token":"flood-%d-of-many"}`, i))
		}
		for i := manyCanaries * 2 / 3; i < manyCanaries; i++ {
			tokens = append(tokens, fmt.Sprintf(`{"token":"%s"}`, manyCanary(i)))
		}
		answer(`"result":{"tokens":[` + strings.Join(tokens, ",") + `]}`)
	case "x/leak":
		note("progress", `"progressToken":1,"progress":1,"message":"`+spelledAt(0)+`"`)
		note("message", `"level":"info","data":{"deep":["`+spelledAt(1)+`"]}`)
		inText := string(jsonraw.Quote(`{"deep":"` + spelledAt(2) + `"}`))
		answer(`"result":{"content":[{"type":"text","text":"` + spelledAt(3) + `"},{"type":"text","text":` + inText + `}],` +
			`"structuredContent":{"` + spelledAt(4) + `":"` + spelledAt(5) + `"}}`)
	case "x/fail":
		answer(`"error":{"code":-32000,"message":"` + spelledAt(6) + `","data":{"a":"` + spelledAt(7) + `"}}`)
	default:
		answer(`"error":{"code":-32601,"message":"no such method"}`)
	}
	return lines
}

// leaking is a server on standard input and output.
func leaking() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		m := wire.ParseMessage(in.Bytes())
		if m.Kind != wire.Request {
			continue
		}
		if m.Method == "x/leak" {
			fmt.Fprintln(os.Stderr, "stderr: "+spelledAt(8))
			fmt.Println("noise: " + spelledAt(9))
		}
		for _, line := range leaks(m) {
			fmt.Println(line)
		}
	}
}

// leakingServer is the same over HTTP: the answer comes in pieces, byte by byte if it is short.
func leakingServer(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		m := wire.ParseMessage(raw)
		if m.Kind != wire.Request {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if strings.HasPrefix(m.Method, "x/") && m.Method != "x/flood" {
			w.Header().Set("X-Trace", spelledAt(10))
		}
		if m.Method == "x/html" {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, "<html><title>%s</title></html>", spelledAt(11))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i, line := range leaks(m) {
			all := fmt.Sprintf("id: %d-%s\ndata: %s\n\n", i, someSpelledAt(12, 6), line)
			for piece := max(1, len(all)/50); len(all) > 0; {
				n := min(piece, len(all))
				_, _ = io.WriteString(w, all[:n])
				w.(http.Flusher).Flush()
				all = all[n:]
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/mcp?q=" + strings.NewReplacer("\\", "%5C", "#", "%23", "&", "%26").Replace(someSpelledAt(13, manyCanaries*2/3))
}

// A canaryBench runs commands whose state is in one folder.
type canaryBench struct {
	*testing.T
	dir string
}

// env returns the environment of the commands.
func (b canaryBench) env() []string {
	env := append(program.CleanEnv(), "MCPC_STATE="+b.dir, "HOME="+b.dir, "MCPC_REDACT_FILE="+filepath.Join(b.dir, "values"))
	for i := range manyCanaries / 3 {
		env = append(env, fmt.Sprintf("C%d_TOKEN=%s", i, manyCanary(i)))
	}
	return env
}

// mcpc runs a command.
func (b canaryBench) mcpc(stdin string, args ...string) (stdout, stderr []byte, code int) {
	var out, said bytes.Buffer
	run := clitest.Run{Args: args, Env: b.env(), Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &said}
	code = run.Do()
	return out.Bytes(), said.Bytes(), code
}

// talk sends what leaks in one conversation, and looks at what is shown of it.
func (b canaryBench) talk(args ...string) {
	b.Helper()
	at := `{"note":"` + spelledAt(14) + `"}`
	for _, loud := range []string{"-v", "-vvv --explain"} {
		line := func(method string) string { return "raw " + method + " '" + at + "' " + loud + "\n" }
		_, stderr, _ := b.mcpc("raw x/flood "+loud+"\n"+line("x/leak")+line("x/fail")+line("x/html"), args...) // the lines fail
		findManyCanaries(b.T, "standard error of "+args[0], stderr)
		if !bytes.Contains(stderr, []byte("x/leak")) {
			b.Fatalf("%s says %s", args[0], stderr)
		}
	}
}

// 60 secrets in 14 spellings at 15 places, after a flood of others, through a client, a tap and a
// proxy, over HTTP and stdio: no secret is kept, shown or shared.
func TestNoSpellingIsKeptOrShown(t *testing.T) {
	b := canaryBench{t, t.TempDir()}
	b.writeValues()
	url := leakingServer(t)
	field := "X-Note: " + someSpelledAt(14, manyCanaries*2/3)
	b.talk("shell", "-s", url, "-H", field)
	b.talk("shell", "--", "leaking")
	b.talk("shell", "--no-record", "--", "mcpc", "tap", "--", "leaking")
	proxy := clitest.Serve(t, b.env(), "proxy", "--to", url, "--listen", "127.0.0.1:0")
	at, _, _ := strings.Cut(proxy.URL, "?")
	b.talk("shell", "--no-record", "-s", at, "-H", field)
	said, _ := proxy.Stop()
	findManyCanaries(t, "standard error of the proxy", []byte(said))
	b.lookAtAll()
}

// lookAtAll looks at what is recorded, and at what is shown and given away of it.
func (b canaryBench) lookAtAll() {
	b.Helper()
	files, frames := 0, 0
	err := filepath.WalkDir(filepath.Join(b.dir, host.TrafficDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.HasSuffix(path, ".jsonl") {
			files++
		}
		frames += bytes.Count(raw, []byte("x/leak"))
		findManyCanaries(b.T, path, raw)
		return err
	})
	if err != nil || files < 6 || frames < 6 {
		b.Fatalf("%d files and %d requests were recorded: %v", files, frames, err)
	}
	for run := 1; run <= files; run++ {
		n := fmt.Sprint(run)
		var all [][]string
		for _, form := range traffic.ExportFormats {
			all = append(all, []string{"export", n, "-method:initialize", "--as", form})
		}
		for _, args := range append(all, []string{"show", n, "--json"}, []string{"show", n, "--raw"}, []string{"show", n}) {
			out, said, _ := b.mcpc("", args...) // not all of it can be a command
			out = append(out, said...)
			findManyCanaries(b.T, strings.Join(args, " "), out)
			if (args[0] == "show" || args[len(args)-1] == "har") && !bytes.Contains(out, []byte("(len")) {
				b.Errorf("%v: %s", args, out)
			}
		}
	}
	for _, args := range [][]string{
		{"log", "--json"},
		{"stats"},
		{"export", "1", "-method:x", "--as", "har", "-o", filepath.Join(b.dir, "1.har")},
		{"export", "--check", filepath.Join(b.dir, "1.har")},
	} {
		out, said, code := b.mcpc("", args...)
		out = append(out, said...)
		if findManyCanaries(b.T, strings.Join(args, " "), out); code != 0 {
			b.Errorf("%v: %d %s", args, code, out)
		}
	}
}
