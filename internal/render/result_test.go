package render

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"mcpc/internal/render/term"
	"mcpc/internal/tests/rendertest"
)

// pngHeader is the start of a PNG of any size, which has no pixels to decode.
func pngHeader(width, height uint32) string {
	chunk := []byte("IHDR")
	chunk = binary.BigEndian.AppendUint32(chunk, width)
	chunk = binary.BigEndian.AppendUint32(chunk, height)
	chunk = append(chunk, 8, 2, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	out = append(out, chunk...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(chunk))
	return base64.StdEncoding.EncodeToString(append(out, make([]byte, 31_000)...))
}

func imageBlock(mime, data string) string {
	return fmt.Sprintf(`{"type":"image","mimeType":"%s","data":"%s"}`, mime, data)
}

func tool(blocks ...string) string { return `{"content":[` + strings.Join(blocks, ",") + `]}` }

var tinyGIF = base64.StdEncoding.EncodeToString([]byte("GIF89a\x05\x00\x07\x00\x00\x00\x00"))

var results = []struct{ name, method, result string }{
	{"text", "tools/call", tool(`{"type":"text","text":"The sum of 1 and 2 is 3."}`)},
	{"text with its own line end", "tools/call", tool(`{"type":"text","text":"one\ntwo\n"}`, `{"type":"text","text":"three"}`)},
	{"hostile text", "tools/call", tool(`{"type":"text","text":"\u001b]52;c;YQ==\u0007safe\revil \u202egnp\nsecond line"}`)},
	{"isError", "tools/call", `{"content":[{"type":"text","text":"division by zero"}],"isError":true}`},
	{"JSON text", "tools/call", tool(`{"type":"text","text":"{\"b\":1.10,\"a\":\"\u202e\"}"}`)},
	{"number text", "tools/call", tool(`{"type":"text","text":"42"}`)},
	{"broken JSON text", "tools/call", tool(`{"type":"text","text":"{\"b\":1,}"}`)},
	{"mirrored", "tools/call", `{"content":[{"type":"text","text":"{\"temperature\": 33.0, \"n\": 9007199254740993}"}],"structuredContent":{"n":9007199254740993,"temperature":33}}`},
	{"nearly mirrored", "tools/call", `{"content":[{"type":"text","text":"{\"n\": 9007199254740992}"}],"structuredContent":{"n":9007199254740993}}`},
	{"wrapped by the Python SDK", "tools/call", `{"content":[{"type":"text","text":"5"}],"structuredContent":{"result":5}}`},
	{"a list wrapped", "tools/call", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"{\"b\": 1}"}],"structuredContent":{"result":["a",{"b":1}]}}`},
	{"beside a text", "tools/call", `{"content":[{"type":"text","text":"It is sunny."}],"structuredContent":{"sky":"clear"}}`},
	{"structured alone", "tools/call", `{"content":[],"structuredContent":{"sky":"clear"}}`},
	{"structured null", "tools/call", `{"content":[],"structuredContent":null}`},
	{"structured {} that means none", "tools/call", `{"content":[{"type":"text","text":"done"}],"structuredContent":{ }}`},
	{"nothing", "tools/call", `{"content":[]}`},
	{"empty text", "tools/call", tool(`{"type":"text","text":""}`)},
	{"no content", "tools/call", `{"ok":true}`},
	{"input required", "tools/call", `{"content":null,"resultType":"input_required","requestState":"x"}`},
	{"image", "tools/call", tool(imageBlock("image/png", pngHeader(640, 480)))},
	{"huge image", "tools/call", tool(imageBlock("image/png", pngHeader(20000, 20000)))},
	{"image among texts", "tools/call", tool(`{"type":"text","text":"Here:"}`, imageBlock("image/gif", tinyGIF), `{"type":"text","text":"That was it."}`)},
	{"image of another type", "tools/call", tool(imageBlock("image/png", tinyGIF))},
	{"image that is none", "tools/call", tool(imageBlock("image/png", "PGh0bWw+"))},
	{"image without type", "tools/call", tool(`{"type":"image","data":"` + tinyGIF + `"}`)},
	{"bad base64", "tools/call", tool(imageBlock("image/png", "iVBO!!!!"))},
	{"base64 without padding", "tools/call", tool(imageBlock("image/gif", strings.TrimRight(tinyGIF, "=")))},
	{"empty image", "tools/call", tool(imageBlock("image/png", ""))},
	{"hostile type", "tools/call", tool(imageBlock(`image/\u001b[31m`+strings.Repeat("x", 300), tinyGIF))},
	{"audio", "tools/call", tool(`{"type":"audio","mimeType":"audio/x-wav","data":"UklGRgAAAABXQVZFZm10IA=="}`)},
	{"embedded text", "tools/call", tool(`{"type":"resource","resource":{"uri":"demo://a","mimeType":"text/plain","text":"inside"}}`)},
	{"embedded blob", "tools/call", tool(`{"type":"resource","resource":{"uri":"demo://b","mimeType":"application/gzip","blob":"H4sIAAAA"}}`)},
	{"link", "tools/call", tool(`{"type":"resource_link","uri":"file:///etc/passwd","name":"pw","title":"Pass\u0007words","mimeType":"text/plain","size":1234,"description":"all of\nthem"}`)},
	{"bare link", "tools/call", tool(`{"type":"resource_link","uri":"demo://c"}`)},
	{"unknown type", "tools/call", tool(`{"type":"hologram\u001b","depth":3}`)},
	{"image without data", "tools/call", tool(`{"type":"image"}`)},
	{"not even a block", "tools/call", tool(`7`)},
	{"annotations", "tools/call", tool(`{"type":"text","text":"Error: it failed","annotations":{"audience":["user","assistant"],"priority":1.0,"lastModified":"2025-01-12T15:00:58Z"}}`)},
	{"prompt", "prompts/get", `{"description":"A code review","messages":[{"role":"user","content":{"type":"text","text":"Review this:\nx := 1"}},{"role":"assistant","content":{"type":"text","text":"Fine."}},{"role":"user","content":` + imageBlock("image/gif", tinyGIF) + `}]}`},
	{"prompt without messages", "prompts/get", `{"messages":[]}`},
	{"prompt of a strange shape", "prompts/get", `{"messages":[{"role":"user"},3]}`},
	{"resource", "resources/read", `{"contents":[{"uri":"demo://a","mimeType":"text/plain","text":"first line\nlast line"}]}`},
	{"two resources", "resources/read", `{"contents":[{"uri":"demo://a","mimeType":"text/plain","text":"one"},{"uri":"demo://b\u001b","mimeType":"application/pdf","blob":"JVBERi0xLjcK"}]}`},
	{"resource blob", "resources/read", `{"contents":[{"uri":"demo://b","blob":"JVBERi0xLjcK"}]}`},
	{"no contents", "resources/read", `{"contents":[]}`},
	{"another method", "server/discover", `{"supportedVersions":["2026-07-28"],"x":"\u202e"}`},
}

func TestResult(t *testing.T) {
	for name, st := range map[string]term.Style{
		"result_pipe.txt":     {Width: 80},
		"result_terminal.txt": {Terminal: true, Width: 80},
		"result_color.txt":    {Terminal: true, Color: true, Width: 80},
		"result_ascii.txt":    {Terminal: true, Width: 80, ASCII: true},
	} {
		var all bytes.Buffer
		for _, c := range results {
			fmt.Fprintf(&all, "=== %s\n", c.name)
			if err := Result(&all, st, c.method, []byte(c.result)); err != nil {
				t.Fatal(err)
			}
		}
		rendertest.Golden(t, name, all.Bytes())
		if st.Terminal && !st.Color {
			if i := strings.IndexFunc(all.String(), rendertest.IsForbidden); i >= 0 {
				t.Errorf("%s holds %q", name, all.String()[i:i+20])
			}
		}
	}
}

// Content that -o omits is named, and nothing if all is saved.
func TestUnsavedNamesOmittedContent(t *testing.T) {
	const image, link, text = `{"type":"image","mimeType":"image/png","data":"aGk="}`, `{"type":"resource_link","uri":"x:y","name":"n"}`, `{"type":"text","text":"hi"}`
	for content, want := range map[string]string{
		text:                            "",
		text + "," + text:               "",
		image:                           "",
		link:                            "",
		text + "," + link + "," + link:  "2 resource_link",
		text + "," + image + "," + text: "2 text",
		image + `,{"type":"text","text":" "},` + link: "1 resource_link",
		text + `,{"type":"hologram\u001b"}`:           "1 hologram␛",
	} {
		if got := Unsaved("tools/call", []byte(`{"content":[`+content+`]}`)); got != want {
			t.Errorf("%s: got %q, want %q", content, got, want)
		}
	}
	for result, want := range map[string]string{
		`{"structuredContent":{},"content":[` + link + `]}`:                                          "1 resource_link",
		`{"structuredContent":{"a":1},"content":[` + link + `]}`:                                     "1 resource_link", // it is what is saved
		`{"structuredContent":{"a":1},"content":[` + text + `]}`:                                     "structuredContent",
		`{"structuredContent":{"a":1},"content":[` + text + "," + link + `]}`:                        "1 resource_link, structuredContent",
		`{"structuredContent":{"a":1},"content":[` + image + `]}`:                                    "structuredContent",
		`{"structuredContent":{"a":1},"content":[{"type":"text","text":"{ \"a\": 1.0 }"}]}`:          "",
		`{"structuredContent":{"a":1},"content":[` + image + `,{"type":"text","text":"{\"a\":1}"}]}`: "1 text",
		`{"structuredContent":{},"content":[` + text + `]}`:                                          "",
	} {
		if got := Unsaved("tools/call", []byte(result)); got != want {
			t.Errorf("%s: got %q, want %q", result, got, want)
		}
	}
}

// saved is what Payload writes.
func saved(method string, result []byte) (data, what string, err error) {
	var b bytes.Buffer
	write, err := Payload(method, result)
	if err == nil {
		what, err = write(&b)
	}
	return b.String(), what, err
}

func TestPayload(t *testing.T) {
	want := map[string]string{
		"text":                       "The sum of 1 and 2 is 3. | text, 24 bytes",
		"text with its own line end": "one\ntwo\nthree\n | text, 14 bytes",
		"mirrored":                   `{"temperature": 33.0, "n": 9007199254740993} | text, 44 bytes`,
		"structured alone":           `{"sky":"clear"}` + "\n | JSON, 16 bytes",
		"image of another type":      "GIF89a\x05\x00\a\x00\x00\x00\x00 | image/png, but the bytes are image/gif, 5x7, 13 bytes",
		"base64 without padding":     "GIF89a\x05\x00\a\x00\x00\x00\x00 | image/gif, 5x7, 13 bytes",
		"image among texts":          "GIF89a\x05\x00\a\x00\x00\x00\x00 | image/gif, 5x7, 13 bytes",
		"empty image":                " | image/png, empty",
		"resource":                   "first line\nlast line | text, 20 bytes",
		"resource blob":              "%PDF-1.7\n | bytes of no declared type, the bytes are application/pdf, 9 bytes",
		"embedded blob":              "\x1f\x8b\b\x00\x00\x00 | application/gzip, 6 bytes",
		"nothing":                    `{"content":[]}` + "\n | JSON, 15 bytes",
		"prompt":                     "GIF89a\x05\x00\a\x00\x00\x00\x00 | image/gif, 5x7, 13 bytes",
		"another method":             `{"supportedVersions":["2026-07-28"],"x":"\u202e"}` + "\n | JSON, 50 bytes",
		"bad base64":                 "error: decoding .content[0].data: invalid base64 at character 4 of 8",
	}
	for _, c := range results {
		if _, ok := want[c.name]; !ok {
			continue
		}
		data, what, err := saved(c.method, []byte(c.result))
		got := data + " | " + what
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want[c.name] {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, want[c.name])
		}
	}
	two := tool(imageBlock("image/gif", tinyGIF), imageBlock("image/gif", tinyGIF))
	if _, _, err := saved("tools/call", []byte(two)); err == nil || !strings.Contains(err.Error(), "2 binary blocks") {
		t.Errorf("two images: %v", err)
	}
}

type fullDisk struct{}

var errFull = errors.New("no space left on device")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestResultTellsFailedWrites(t *testing.T) {
	for _, c := range results {
		for _, st := range []term.Style{{}, {Terminal: true}} {
			err := Result(fullDisk{}, st, c.method, []byte(c.result))
			if quiet := !st.Terminal && (c.name == "nothing" || strings.HasPrefix(c.name, "no contents") || c.name == "prompt without messages"); quiet {
				continue
			}
			if !errors.Is(err, errFull) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

func FuzzResult(f *testing.F) {
	for _, c := range results {
		if len(c.result) < 1000 {
			f.Add(c.method, []byte(c.result))
		}
	}
	f.Fuzz(func(t *testing.T, method string, result []byte) {
		var b bytes.Buffer
		if err := Result(&b, terminal, method, result); err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexFunc(b.String(), rendertest.IsForbidden); i >= 0 {
			t.Fatalf("%q holds %q", b.String(), b.String()[i:])
		}
		_ = Result(&b, term.Style{}, method, result)
		_, _, _ = saved(method, result)
	})
}

func TestSameJSON(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true, null ], "a" : 1.0 } `, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`1e2`, `100`, true},
		{`-0.5`, `-5e-1`, true},
		{`0`, `-0.0`, true},
		{`1e999999999999`, `1e999999999999`, true},
		{`1e999999999`, `1`, false},
		{`1.5`, `15`, false},
		{`"a"`, `"\u0061"`, true},
		{`[1,2]`, `[2,1]`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":1,}`, `{"a":1}`, false},
		{`text`, `"text"`, false},
		{`1`, `"1"`, false},
	} {
		if got := sameJSON([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// Markdown is drawn only on a terminal that shows styles.
func TestMarkdownIsDrawnOnStyledTerminalsOnly(t *testing.T) {
	result := []byte(`{"contents":[{"uri":"a:b","mimeType":"text/markdown; charset=utf-8","text":"# T\n\n**b**\n"}]}`)
	for name, c := range map[string]struct {
		st    term.Style
		drawn bool
	}{
		"terminal":  {term.Style{Terminal: true, Color: true}, true},
		"no colour": {term.Style{Terminal: true}, false},
		"pipe":      {term.Style{}, false},
		"raw":       {term.Style{Terminal: true, Color: true, RawText: true}, false},
	} {
		var b bytes.Buffer
		if err := Result(&b, c.st, "resources/read", result); err != nil {
			t.Fatal(err)
		}
		if got := !strings.Contains(b.String(), "# T\n\n**b**\n"); got != c.drawn {
			t.Errorf("%s: drawn is %v: %q", name, got, b.String())
		}
	}
	var b bytes.Buffer
	prompt := []byte(`{"messages":[{"role":"user","content":{"type":"text","text":"# T\n\n**b**"}}]}`)
	if err := Result(&b, term.Style{Terminal: true, Color: true}, "prompts/get", prompt); err != nil || !strings.Contains(b.String(), "**b**") {
		t.Errorf("a prompt is what a model reads: %q %v", b.String(), err)
	}
}
