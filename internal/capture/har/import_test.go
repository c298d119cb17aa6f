package har

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/redact"
)

// imported imports an archive, and opens the capture.
func imported(t *testing.T, text string) (*rows.Capture, Imported) {
	t.Helper()
	var out bytes.Buffer
	facts, err := Import(&out, strings.NewReader(text), "1", new(redact.Secrets))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "imported.jsonl")
	if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := rows.Open(name)
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out.Bytes())
	}
	t.Cleanup(c.Close)
	return c, facts
}

// seen is what an archive keeps of a row.
func seen(r *rows.Row) string {
	return fmt.Sprint(r.Target, " ", r.Dir, " ", r.Method, " ", r.Name, " ", r.ID, " ", r.Channel, " ", r.Code, " ", r.Status, " ", r.Revision, " ", r.IsSeparate,
		" ", r.Sent, " ", r.Received, " ", r.Notes.Notifications, " ", r.Notes.Questions)
}

func TestExportedArchiveIsImportedBack(t *testing.T) {
	golden, err := rows.Open(filepath.Join("..", "rows", "testdata", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer golden.Close()
	var out bytes.Buffer
	if err := Write(&out, "1", golden.Rows()); err != nil {
		t.Fatal(err)
	}
	c, facts := imported(t, out.String())
	if facts.NotMCP+facts.Unreadable > 0 {
		t.Errorf("left out: %+v", facts)
	}
	var want, got []string
	for _, r := range crossed(golden.Rows()) {
		want = append(want, seen(r))
	}
	for _, r := range c.Rows() {
		got = append(got, seen(r))
	}
	slices.Sort(want)
	slices.Sort(got)
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("- %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("+ %s", line)
		}
	}
}

// crossed returns the rows with traffic that an archive has.
func crossed(all []*rows.Row) []*rows.Row {
	return slices.DeleteFunc(slices.Clone(all), func(r *rows.Row) bool { return r.Kinds == 0 })
}

// entryText is an entry of a browser, with the bodies as JSON strings.
func entryText(url, fields, sent, mime, received, more string) string {
	return `{"startedDateTime":"2026-01-01T00:00:00.5+01:00","time":5,"request":{"method":"POST","url":` + url + `,"httpVersion":"h2","headers":[` + fields +
		`],"queryString":[],"cookies":[],"headersSize":-1,"bodySize":9,"postData":{"mimeType":"application/json","text":` + sent +
		`}},"response":{"status":200,"statusText":"","httpVersion":"h2","headers":[],"cookies":[],"content":{"size":10,"mimeType":"` + mime + `","text":` + received +
		`},"redirectURL":"","headersSize":-1,"bodySize":-1},"cache":{},"timings":{"blocked":null,"dns":-1,"send":0,"wait":3.5,"receive":1}` + more + `}`
}

// withResponse returns an entry with another member in the place of its response.
func withResponse(entry, member string) string {
	before, rest, _ := strings.Cut(entry, `"response":`)
	_, after, _ := strings.Cut(rest, `"cache":`)
	return before + member + `"cache":` + after
}

// A program that writes no timings still writes the time of an entry.
func TestDurationWithoutTimings(t *testing.T) {
	entry := entryText(`"https://mcp.example/mcp"`, "", `"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"`, "application/json",
		`"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"`, "")
	for name, c := range map[string]struct {
		from, to string
		want     time.Duration
	}{
		"with timings":          {"", "", 4500 * time.Microsecond},
		"without timings":       {`,"timings":{"blocked":null,"dns":-1,"send":0,"wait":3.5,"receive":1}`, "", 5 * time.Millisecond},
		"with timings of zeros": {`{"blocked":null,"dns":-1,"send":0,"wait":3.5,"receive":1}`, `{"send":0,"wait":0,"receive":0}`, 5 * time.Millisecond},
	} {
		in, _ := imported(t, archive(strings.Replace(entry, c.from, c.to, 1)))
		if rows := in.Rows(); len(rows) != 1 || rows[0].Duration != c.want {
			t.Errorf("%s: got %+v, want %v", name, rows, c.want)
		}
	}
}

// brotliResult is a response to request 1 in brotli, in base64.
const brotliResult = "G0wAAATKbalffoYaP1UxabGJdcwNLgGISrMsoxUHh9wCysL0u5JvPf9tzIiGuCfpYo6TSN/qmYAxwcgaqNqgFaNWFQ=="

// gzipResult is the response {"jsonrpc":"2.0","id":1,"result":{}} in gzip, in base64.
var gzipResult = func() string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`))
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}()

// compressedEntry is an entry with a response body in base64, as some programs write a body that they have not decoded.
func compressedEntry(coding, sent, received string) string {
	entry := entryText(`"https://mcp.example/mcp"`, "", sent, "application/json", `"`+received+`","encoding":"base64"`, "")
	return strings.Replace(entry, `"httpVersion":"h2","headers":[],"cookies":[],"content"`, `"httpVersion":"h2","headers":[{"name":"content-type","value":"application/json"},{"name":"content-encoding","value":"`+coding+`"}],"cookies":[],"content"`, 1)
}

func archive(entries ...string) string {
	return "\xEF\xBB\xBF" + `{"log":{"version":"1.2","pages":[{"x":{}}],"entries":[` + strings.Join(entries, ",") + `],"comment":""},"x":1}`
}

func TestArchivesOfBrowsers(t *testing.T) {
	const url = `"https://mcp.example/mcp?access_token=verysecretvalue"`
	sent := `"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}"`
	received := `"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}"`
	events := `"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"`
	listed := `,"_eventSourceMessages":[{"time":1767222000.6,"eventName":"message","eventId":"e1","data":` + received + `}]`
	call := entryText(url, `{"name":":authority","value":"mcp.example"},{"name":"Authorization","value":"Bearer verysecretbearer"}`, sent, "application/json", received, "")
	for name, c := range map[string]struct {
		text string
		rows []string // method, name, channel, status
		want Imported
	}{
		"a call":        {archive(call), []string{"tools/call x ok 200"}, Imported{Entries: 1}},
		"others":        {archive(entryText(`"https://mcp.example/app.js"`, "", `""`, "text/javascript", `"x"`, ""), call), []string{"tools/call x ok 200"}, Imported{Entries: 1, NotMCP: 1}},
		"a stream":      {archive(entryText(url, "", sent, "text/event-stream", events, "")), []string{"tools/call x ok 200"}, Imported{Entries: 1}},
		"listed events": {archive(entryText(url, "", sent, "text/event-stream", `""`, listed)), []string{"tools/call x ok 200"}, Imported{Entries: 1}},
		"no body":       {archive(entryText(url, "", sent, "application/json", `""`, "")), []string{"tools/call x unreadable 200"}, Imported{Entries: 1, WithoutResponseBody: 1}},
		"compressed":    {archive(compressedEntry("br", sent, brotliResult)), []string{"tools/call x ok 200"}, Imported{Entries: 1}},
		"decompressed":  {archive(compressedEntry("br", sent, base64.StdEncoding.EncodeToString([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"é":1}}`)))), []string{"tools/call x ok 200"}, Imported{Entries: 1}},
		"other coding":  {archive(compressedEntry("lzma", sent, brotliResult)), []string{"tools/call x unreadable 200"}, Imported{Entries: 1}},
		"damaged":       {archive(compressedEntry("gzip", sent, brotliResult)), []string{"tools/call x unreadable 200"}, Imported{Entries: 1}},
		"not an entry":  {archive(`7`, `{"request":7}`, call), []string{"tools/call x ok 200"}, Imported{Entries: 1, Unreadable: 2}},
		"nothing":       {archive(), nil, Imported{}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if _, err := Import(&out, strings.NewReader(c.text), "1", new(redact.Secrets)); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), "verysecret") {
				t.Errorf("a secret is left:\n%s", out.String())
			}
			if c.rows == nil {
				if out.Len() > 0 {
					t.Errorf("%s", out.String())
				}
				return
			}
			in, facts := imported(t, c.text)
			if facts != c.want {
				t.Errorf("%+v, want %+v", facts, c.want)
			}
			var rows []string
			for _, r := range in.Rows() {
				rows = append(rows, strings.Join(strings.Fields(fmt.Sprint(r.Method, " ", r.Name, " ", r.Channel, " ", r.Status)), " "))
			}
			if !slices.Equal(rows, c.rows) {
				t.Errorf("%q, want %q", rows, c.rows)
			}
		})
	}
}

// Programs write the same in different shapes. A part that an archive lacks is no failure of the
// server.
func TestArchivesOfDifferentPrograms(t *testing.T) {
	const (
		url      = `"https://mcp.example/mcp"`
		call     = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`
		result   = `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
		fields   = `"headers":[],"cookies":[],"content"`
		ok       = "tools/call x ok 200"
		bad      = "tools/call x bad_response 200"
		unread   = "tools/call x unreadable 200"
		isJSON   = `"headers":[{"name":"content-type","value":"application/json"}],"cookies":[],"content"`
		isStream = `"headers":[{"name":"content-type","value":"text/event-stream"}],"cookies":[],"content"`
	)
	quoted := func(text string) string {
		raw, _ := json.Marshal(text)
		return string(raw)
	}
	inBase64 := func(text string) string { return `"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"` }
	plain := entryText(url, "", quoted(call), "application/json", quoted(result), "")
	events := entryText(url, "", quoted(call), "x-unknown", quoted("data: "+result+"\n\n"), "")
	mislabelled := entryText(url, "", quoted(call), "text/event-stream", quoted(result), "")
	compressed := entryText(url, "", quoted(call), "application/json", `"`+gzipResult+`","encoding":"base64"`, "")
	sent, received := `"text":`+quoted(call), `"text":`+quoted(result)
	socket := `{"startedDateTime":"2026-01-01T00:00:00Z","request":{"method":"GET","url":"wss://mcp.example/ws"},` +
		`"response":{"status":101},"_webSocketMessages":[{"type":"send","data":` + quoted(call) + `}]}`
	all := Imported{Entries: 1}
	lacking := Imported{Entries: 1, WithoutResponseBody: 1}
	timeless := Imported{Entries: 1, WithoutTime: 1}
	for name, c := range map[string]struct {
		entry string
		edits []string // texts and what replaces them
		row   string
		want  Imported
	}{
		"gzip, unsaid":              {compressed, nil, ok, all},
		"request in base64":         {plain, []string{sent, `"encoding":"base64","text":` + inBase64(call)}, ok, all},
		"request of mcpc in base64": {plain, []string{sent, `"_encoding":"base64","text":` + inBase64(call)}, ok, all},
		"size not known":            {plain, []string{received, `"x":0`, `"size":10`, `"size":-1`}, unread, lacking},
		"body in another file":      {plain, []string{received, `"_file":"a.json"`}, unread, lacking},
		"body not included":         {plain, []string{received, `"comment":"left out","text":"{\"json"`}, unread, lacking},
		"a stream without its body": {
			plain,
			[]string{received, `"x":0`, fields, isStream, `"size":10`, `"size":-1`},
			unread, lacking,
		},
		"broken by the server":       {plain, []string{received, `"text":"{\"jsonrpc\":"`}, bad, all},
		"an empty answer":            {plain, []string{received, `"text":""`, `"size":10`, `"size":0`}, bad, all},
		"another type of the stream": {events, []string{fields, isStream}, ok, all},
		"another type of the JSON":   {mislabelled, []string{fields, isJSON}, ok, all},
		"a status in quotes":         {plain, []string{`"status":200`, `"status":"200"`, `"time":5`, `"time":"5"`}, ok, all},
		"bodies as JSON":             {plain, []string{sent, `"text":` + call, received, `"text":` + result}, ok, all},
		"a time without a zone":      {plain, []string{`00.5+01:00`, `00.5`}, ok, all},
		"a time that is no time":     {plain, []string{`2026-01-01T00:00:00.5+01:00`, `yesterday`}, ok, timeless},
		"no response":                {withResponse(plain, ""), nil, "tools/call x unreadable 0", lacking},
		"a response of null":         {withResponse(plain, `"response":null,`), nil, "tools/call x unreadable 0", lacking},
		"a WebSocket":                {socket + "," + plain, nil, ok, Imported{Entries: 1, WebSockets: 1}},
	} {
		in, facts := imported(t, archive(strings.NewReplacer(c.edits...).Replace(c.entry)))
		var rows []string
		for _, r := range in.Rows() {
			rows = append(rows, fmt.Sprint(r.Method, " ", r.Name, " ", r.Channel, " ", r.Status))
		}
		if facts != c.want || !slices.Equal(rows, []string{c.row}) {
			t.Errorf("%s: %q %+v, want %q %+v", name, rows, facts, c.row, c.want)
		}
	}
}

// Entries are taken in the order of their times, as HAR lets programs write them in any order.
func TestEntriesInAnyOrder(t *testing.T) {
	entry := func(second, sent, received string) string {
		text := entryText(`"https://mcp.example/mcp"`, "", sent, "application/json", received, "")
		return strings.Replace(text, "00:00:00.5", "00:00:0"+second, 1)
	}
	call := entry("2", `"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"`,
		`"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"`)
	params := `{\"protocolVersion\":\"2025-06-18\"}`
	open := entry("1", `"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":`+params+`}"`,
		`"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":`+params+`}"`)
	in, facts := imported(t, archive(call, open))
	rows := in.Rows()
	if facts.Entries != 2 || len(rows) != 2 || rows[0].Method != "initialize" || rows[1].Method != "ping" ||
		rows[0].Conn != rows[1].Conn || rows[1].Revision != "2025-06-18" {
		t.Errorf("%+v: %+v", facts, rows)
	}
}

func TestOtherFilesAreNoArchives(t *testing.T) {
	for text, want := range map[string]string{
		"": "unexpected EOF", "7": "JSON object was expected", "{}": "no log.entries", `{"log":{}}`: "no log.entries", `{"log":{"entries":{}}}`: "must be an array",
		"4092:9:websocket;0:~8:response": "flow file of mitmproxy", `{"log":{"entries":[{}`: "unexpected EOF",
		`{"log":{"entries":[}}`: "invalid character", "hello": "invalid character",
		"\xFF\xFE{\x00": "in UTF-16", "\xFE\xFF\x00{": "in UTF-16",
	} {
		_, err := Import(new(bytes.Buffer), strings.NewReader(text), "1", nil)
		if _, ok := errors.AsType[*ArchiveError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestLargePartsAreRefused: each part is in memory, and an untrusted file could take any amount of
// it. The file may be large.
func TestLargePartsAreRefused(t *testing.T) {
	large := `"` + strings.Repeat("x", 300<<10) + `"`
	for text, want := range map[string]string{
		`{"comment":` + large + `,"log":{"entries":[]}}`:                                          "larger than",
		`{"log":{"entries":[{},` + large + `]}}`:                                                  "larger than",
		`{"log":{"x":` + large[:1<<10] + `","entries":[` + strings.Repeat("7,", 400<<10) + `7]}}`: "",
	} {
		err := eachEntry(&partReader{Reader: strings.NewReader(text), maxBytes: 200 << 10}, func(json.RawMessage) error { return nil })
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %q", text, err, want)
		}
	}
}

// FuzzImport: whatever an archive holds, it becomes a capture or an error.
func FuzzImport(f *testing.F) {
	f.Add([]byte(archive(entryText(`"http://x/"`, `{"name":"a","value":"b"}`, `"{}"`, "text/event-stream", `"data: x\n\n"`, ""))))
	f.Add([]byte(`{"log":{"entries":[{"request":{"url":"stdio://local/%zz"},"_mcp":{"by":"command"}}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var out bytes.Buffer
		facts, err := Import(&out, bytes.NewReader(raw), "1", new(redact.Secrets))
		if err != nil || facts.Entries == 0 {
			return
		}
		name := filepath.Join(t.TempDir(), "capture")
		if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := rows.Open(name)
		if err != nil {
			t.Fatalf("%v\n%s", err, out.Bytes())
		}
		if len(c.Findings()) > 0 {
			t.Fatalf("%v\n%s", c.Findings(), out.Bytes())
		}
	})
}

// A body that is too large when it is decoded is not readable, and not cut.
func TestDecodedBodyIsNotCut(t *testing.T) {
	defer func(n int) { maxPartBytes = n }(maxPartBytes)
	fields := []pair{{Name: "Content-Encoding", Value: "br"}}
	whole, err := bodyOf(brotliResult, "base64", fields)
	if err != nil {
		t.Fatal(err)
	}
	maxPartBytes = len(whole)
	if again, err := bodyOf(brotliResult, "base64", fields); err != nil || !bytes.Equal(again, whole) {
		t.Errorf("%q, %v", again, err)
	}
	maxPartBytes = len(whole) - 1
	if cut, err := bodyOf(brotliResult, "base64", fields); cut != nil || !errors.Is(err, errLargeBody) {
		t.Errorf("%q, %v", cut, err)
	}
}

func TestRefusedOpeningBelongsToNext(t *testing.T) {
	entry := func(method string, status int, session, answer string) string {
		return fmt.Sprintf(`{"startedDateTime":"2026-11-28T10:00:00Z","time":1,"request":{"method":"POST","url":"https://x.example/mcp","headers":[],
"postData":{"mimeType":"application/json","text":%q}},"response":{"status":%d,"headers":[{"name":"Content-Type","value":"application/json"}%s],
"content":{"mimeType":"application/json","text":%q}},"timings":{"send":0,"wait":1,"receive":0}}`,
			`{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`, status, session, `{"jsonrpc":"2.0","id":1,`+answer+`}`)
	}
	const session = `,{"name":"Mcp-Session-Id","value":"one"}`
	archive := `{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[` + strings.Join([]string{
		entry("server/discover", 200, "", `"error":{"code":-32601,"message":"no"}`),
		entry("initialize", 200, session, `"result":{}`),
		entry("server/discover", 400, "", `"error":{"code":-32000,"message":"no"}`),
		entry("initialize", 200, "", `"result":{}`),
		entry("initialize", 200, "", `"result":{}`),
	}, ",") + `]}}`
	in, _ := imported(t, archive)
	var got []int
	for _, r := range in.Rows() {
		got = append(got, r.Conn)
	}
	if !slices.Equal(got, []int{1, 1, 2, 2, 3}) {
		t.Errorf("conversations %v", got)
	}
}
