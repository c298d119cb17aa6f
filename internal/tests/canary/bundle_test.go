package canary

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/capture"
	"mcpc/internal/jsonraw"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/wire"
)

// A bundle is made of a recording that hides nothing, as another program or an old mcpc might have
// written it: 200 secrets of ten kinds in twelve places. No secret survives.

// bundleCanaries returns secrets, each with a text that only it has, and whether only its name
// shows that it is a secret, not its form.
func bundleCanaries() (all []bundleCanary) {
	r := rand.New(rand.NewPCG(18, 7))
	random := func(n int, letters string) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	const digits, small = "0123456789", "abcdefghijklmnopqrstuvwxyz"
	const mixed = digits + small + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for i := range 200 {
		c := bundleCanary{place: i % 12}
		switch i / 12 % 10 {
		case 0:
			c.text = "ghp_" + random(34, mixed) + "a1"
		case 1:
			c.text = "sk-" + random(40, mixed) + "b2"
		case 2:
			c.text = "eyJ" + random(20, mixed) + "1." + random(40, mixed) + "." + random(43, mixed)
		case 3:
			c.text = random(8, small) + random(8, mixed) + random(4, digits) + random(28, mixed)
		case 4:
			c.text = random(40, mixed) + "7/" + random(20, mixed) + "+x9Q="
		case 5:
			c.text, c.named = "pw "+random(14, small), true
		case 6:
			c.text, c.named = random(32, "0123456789abcdef"), true
		case 7:
			c.text = "xoxb-" + random(11, digits) + "-" + random(24, mixed)
		case 8:
			c.text = "-----BEGIN PRIVATE KEY-----\n" + random(64, mixed) + "\n" + random(40, mixed) + "\n-----END PRIVATE KEY-----"
		case 9:
			c.text, c.named = "Tr0ub4dor&"+random(6, small)+"\"\\é", true
		}
		all = append(all, c)
	}
	return all
}

type bundleCanary struct {
	text  string
	place int
	named bool
}

// value returns the secret as a JSON string.
func (c bundleCanary) value() string { return string(jsonraw.Quote(c.text)) }

// leakyCapture is a capture with each of the secrets in its place.
func leakyCapture(all []bundleCanary) (text []byte, environ []string) {
	head := capture.Head{Mcpc: "0", By: capture.ByCommand, Target: "http://127.0.0.1:1/mcp", Argv: []string{"mcpc", "-s", "http://127.0.0.1:1/mcp"}}
	var fields []wire.Field
	var query, arguments, texts, nested, stderr, errs strings.Builder
	var cookies []string
	for i, c := range all {
		v, inString := c.value(), c.value()[1:len(c.value())-1]
		line := strings.ReplaceAll(strings.ReplaceAll(c.text, "\n", ""), "\r", "")
		switch c.place {
		case 0: // header
			fields = append(fields, wire.Field{Name: fmt.Sprintf("X-Api-Key%d", i), Value: line})
		case 1: // query
			fmt.Fprintf(&query, "&access_token=%s", url.QueryEscape(c.text))
		case 2: // member of the body
			fmt.Fprintf(&arguments, `,"password":%s`, v)
		case 3: // JSON in a string
			fmt.Fprintf(&nested, `,\"client_secret\":%s`, inJSONString(v))
		case 4: // base64
			fmt.Fprintf(&texts, " %s", base64.StdEncoding.EncodeToString([]byte(`{"some":"text","api_key":`+v+`}`)))
		case 5: // stderr
			stderr.WriteString("token=" + line + "\n")
		case 6: // environment, in prose
			environ = append(environ, fmt.Sprintf("CANARY_%d_TOKEN=%s", i, c.text))
			texts.WriteString(" found " + inString + " there")
		case 7: // argv
			head.Argv = append(head.Argv, "--api-key", c.text)
		case 8: // the note, below
			environ = append(environ, fmt.Sprintf("NOTED_%d_TOKEN=%s", i, c.text))
		case 9: // session id
			fields = append(fields, wire.Field{Name: "Mcp-Session-Id", Value: line})
		case 10: // cookie
			cookies = append(cookies, fmt.Sprintf("c%d=%s", i, line))
		case 11: // error text, before the place that names it
			fmt.Fprintf(&errs, "login with password=%s failed; ", strings.ReplaceAll(line, " ", "_"))
			if strings.Contains(c.text, " ") || c.named {
				environ = append(environ, fmt.Sprintf("ERR_%d_TOKEN=%s", i, strings.ReplaceAll(line, " ", "_")))
			}
		}
	}
	fields = append(fields, wire.Field{Name: "Cookie", Value: strings.Join(cookies, "; ")})
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":1` + arguments.String() + `}}}`
	answer := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + texts.String() + `"},{"type":"text","text":"{\"a\":1` + nested.String() + `}"}]}}`
	failed := `{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":` + string(jsonraw.Quote(errs.String())) + `}}`
	b := capture.AppendHead(nil, head)
	n := uint64(0)
	add := func(f wire.Frame) {
		n++
		f.Seq = n
		b = capture.AppendFrame(b, f)
	}
	request := &wire.HTTPHead{Method: "POST", URL: "http://127.0.0.1:1/mcp?a=b" + query.String(), Fields: fields}
	add(wire.Frame{Dir: wire.Sent, Kind: wire.Head, Stream: 1, HTTP: request})
	add(wire.Frame{Dir: wire.Sent, Kind: wire.Body, Stream: 1, Raw: []byte(call)})
	add(wire.Frame{Dir: wire.Received, Kind: wire.Body, Stream: 1, Raw: []byte(answer)})
	for line := range strings.Lines(stderr.String()) {
		add(wire.Frame{Dir: wire.Received, Kind: wire.Stderr, Raw: []byte(strings.TrimSpace(line))})
	}
	add(wire.Frame{Dir: wire.Sent, Kind: wire.Body, Stream: 2, Raw: []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"y"}}`)})
	add(wire.Frame{Dir: wire.Received, Kind: wire.Body, Stream: 2, Raw: []byte(failed)})
	return b, environ
}

func inJSONString(quoted string) string {
	again := string(jsonraw.Quote(quoted))
	return again[1 : len(again)-1]
}

func TestNoCanarySurvivesABundle(t *testing.T) {
	all := bundleCanaries()
	text, environ := leakyCapture(all)
	b := clitest.EnterHome(t)
	b.Env = append(b.Env, environ...)
	file, out := filepath.Join(b.Dir, "leaky.jsonl"), filepath.Join(b.Dir, "bug.mcpcz")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	note := "seen with "
	for _, c := range all {
		if c.place == 8 {
			note += c.text + " and "
		}
	}
	if got := b.MCPC("export", file, "--as", "bundle", "-o", out, "--yes", "--note", note); got.Code != 0 {
		t.Fatalf("ended with %d", got.Code)
	}
	members := membersOf(t, out)
	if names := slices.Collect(func(yield func(string) bool) {
		for _, m := range members {
			yield(m.name)
		}
	}); !slices.Equal(names, []string{"the file", "MANIFEST.json", "capture.jsonl", "tools.json", "REPORT.md", "notes.md", "index.html"}) {
		t.Errorf("members %q", names)
	}
	for _, c := range all {
		for _, m := range members {
			for how, spelled := range spellings(c.text) {
				if at := bytes.Index(m.text, []byte(spelled)); at >= 0 {
					t.Errorf("%s holds, %s, the secret of place %d: %q in ...%s", m.name, how, c.place, c.text, m.text[max(0, at-60):min(len(m.text), at+20)])
				}
			}
		}
	}
	if got := b.MCPC("export", "--check", out); got.Code != 0 {
		t.Errorf("--check ended with %d:\n%s", got.Code, got.Stdout)
	}
	// Without the bundle's looks at values the same capture has some left: the test can fail.
	if got := b.MCPC("export", "--check", file); got.Code != 1 {
		t.Errorf("--check of the recording ended with %d", got.Code)
	}
	for _, look := range [][]string{{"log", "--file", out}, {"show", out + "#1"}, {"stats", "--file", out}, {"check", out, "--fail-on", "never"}, {"diff", out, out}} {
		if got := b.MCPC(look...); got.Code != 0 {
			t.Errorf("%q ended with %d", look, got.Code)
		}
	}
}

// spellings returns the texts to search for a secret of several lines or words.
func spellings(secret string) map[string]string {
	longest := ""
	for line := range strings.Lines(secret) { // of a key each line is one
		if line = strings.TrimSpace(line); len(line) > len(longest) && !strings.HasPrefix(line, "-----") {
			longest = line
		}
	}
	if !strings.Contains(secret, "\n") {
		longest = secret
	}
	quoted := jsonraw.Quote(longest)
	coded := base64.StdEncoding.EncodeToString([]byte("xx" + longest + "xx"))
	return map[string]string{
		"as it is": longest, "in JSON": string(quoted[1 : len(quoted)-1]), "in JSON in JSON": inJSONString(string(quoted[1 : len(quoted)-1])),
		"in a URL": url.QueryEscape(longest), "in hexadecimal": hex.EncodeToString([]byte(longest)), "in base64": coded[4 : len(coded)-6],
	}
}

type bundleMember struct {
	name string
	text []byte
}

// membersOf are the bytes of a bundle, and its members.
func membersOf(t *testing.T, file string) (all []bundleMember) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, bundleMember{"the file", raw})
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bundleMember{f.Name, text})
	}
	return all
}
