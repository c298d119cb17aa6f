package view_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
	"mcpc/internal/live/view"
	"mcpc/internal/redact"
)

// busy is a conversation with parallel calls, a stream that is cut, secrets and an open call.
var busy = opened(1, "claude") + page(1, 2, 5, "", "", tool("a", anyObject)) + `
@1 10 > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","arguments":{"n":1,"token":"` + redact.Redacted("s3cret") + `"}}}
@1 20 > {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a","arguments":{"n":2}}}
@1 11 ! ready
@1 25 ! cannot log in with ` + redact.Redacted("s3cret") + `
@1 30 < {"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"<b>two</b> \u001b[31m"}]}}
@1 90 < {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"one"}],"structuredContent":{"items":[1,2,3]}}}
` + `
@2 100 > 7 GET
@2 110 < 7 200 text/event-stream
@2 120 < 7 #s-1 {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}
@2 150 < 7 cut unexpected EOF
@2 200 > 8 POST
@2 200 > 8 {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"hang","arguments":{}}}
`

func TestDocumentsOfABusyRecording(t *testing.T) {
	v := views(t, made(t, busy), view.Options{
		Title: "busy",
		Findings: func(*rows.Row) ([]view.Finding, error) {
			return []view.Finding{{Rule: "L106", Severity: "warn", Text: "a rule was broken"}}, nil
		},
	})
	ctx := t.Context()
	check := func(name string, value any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, document(t, value))
	}
	all, err := v.Rows(ctx, view.Query{Sort: "-took", Count: 3})
	check("rows.json", all, err)
	detail, err := v.Detail(ctx, "3")
	for i := range detail.Facts {
		if detail.Facts[i][0] == "file" {
			detail.Facts[i][1] = "FILE"
		}
	}
	check("detail.json", detail, err)
	streams, err := v.Streams(ctx, view.Query{})
	check("streams.json", streams, err)
	secrets, err := v.Secrets(ctx, view.Query{})
	check("secrets.json", secrets, err)
	lanes, err := v.Lanes(ctx, view.Query{}, time.Time{}, time.Time{})
	check("lanes.json", lanes, err)
	request, response, err := v.Diff(ctx, "3", "4")
	check("diff.json", map[string]any{"request": request, "response": response}, err)
	if back, _, err := v.Diff(ctx, "4", "3"); err != nil || len(back) != 2 || back[1].Was != nil || len(back[1].Is) == 0 {
		t.Errorf("the other way round: %s, %v", document(t, back), err)
	}
	check("conversations.json", v.Conversations(), nil)
	check("status.json", v.Status(), nil)
	var suggested []any
	for _, text := range []string{"", "me", "is:", "-method:tools/", "name:a or -name:h", "has:fin", "channel:o", "dir:sent,r"} {
		suggested = append(suggested, text, v.Suggest(text))
	}
	check("suggest.json", suggested, nil)
}

// TestRowsHaveArguments reads the arguments of calls only if the query asks for them.
func TestRowsHaveArguments(t *testing.T) {
	long := strings.Repeat("x", 5000)
	v := views(t, made(t, `0 > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"q": 1}}}
		1 > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b","arguments":{"q":"`+long+`"}}}
		2 > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"c"}}
		3 > {"jsonrpc":"2.0","id":4,"method":"tools/list"}
		4 > {"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{"name":"d","arguments":{"p":"2"}}}`), view.Options{})
	for _, with := range []bool{false, true} {
		page, err := v.Rows(t.Context(), view.Query{WithArguments: with})
		if err != nil || len(page.Rows) != 5 {
			t.Fatalf("got %d rows, %v", len(page.Rows), err)
		}
		var got []string
		for _, r := range page.Rows {
			got = append(got, r.Arguments)
		}
		if !with {
			if text := strings.Join(got, ""); text != "" {
				t.Errorf("without WithArguments: %q", got)
			}
			continue
		}
		cut := len(got[1]) < 500 && strings.HasPrefix(got[1], `{"q":"xxx`) && strings.HasSuffix(got[1], "…")
		if got[0] != `{"q":1}` || !cut || got[2] != "" || got[3] != "" || got[4] != `{"p":"2"}` {
			t.Errorf("got %q", got)
		}
	}
}

func TestRowPagesAndKeys(t *testing.T) {
	v := views(t, made(t, busy), view.Options{})
	last, err := v.Rows(t.Context(), view.Query{From: -2})
	if err != nil || len(last.Rows) != 2 || last.From != last.Total-2 {
		t.Errorf("the last two: %d rows from %d of %d, %v", len(last.Rows), last.From, last.Total, err)
	}
	behind, err := v.Rows(t.Context(), view.Query{From: 1000})
	if err != nil || len(behind.Rows) != 0 || behind.From != behind.Total {
		t.Errorf("behind the end: %d rows from %d, %v", len(behind.Rows), behind.From, err)
	}
	only, err := v.Rows(t.Context(), view.Query{Only: []string{"4", "x", "99"}})
	if err != nil || len(only.Rows) != 1 || only.Rows[0].Key != "4" {
		t.Errorf("only 4: %+v, %v", only.Rows, err)
	}
	none, err := v.Rows(t.Context(), view.Query{Only: []string{}})
	if err != nil || len(none.Rows) != 0 {
		t.Errorf("only none: %d rows, %v", len(none.Rows), err)
	}
	talk, err := v.Rows(t.Context(), view.Query{Talk: "-1.2"})
	if err != nil || talk.Total != 2 {
		t.Errorf("a conversation: %d rows, %v", talk.Total, err)
	}
	for _, key := range []string{"", "x", "99", "1.2", "-5", "1.2.3"} {
		if _, err := v.Detail(t.Context(), key); !errors.Is(err, view.ErrGone) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	var failed *filter.Error
	if _, err := v.Rows(t.Context(), view.Query{Filter: "is:nothing"}); !errors.As(err, &failed) {
		t.Errorf("a wrong filter: %v", err)
	}
}

func TestBodiesAreNotCut(t *testing.T) {
	long := strings.Repeat("ä", 300<<10)
	v := views(t, made(t, `0 > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{}}}
5 < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`+long+`"}]}}`), view.Options{})
	d, err := v.Detail(t.Context(), "1")
	if err != nil || !d.Response.Cut || len(d.Response.Text) > 256<<10 || !strings.HasSuffix(d.Response.Text, "ä") || d.Frames[1].Body.Cut != true {
		t.Fatalf("cut %v, %d bytes, %v", d.Response.Cut, len(d.Response.Text), err)
	}
	whole, err := v.Body(t.Context(), "1", d.Response.Frame)
	if err != nil || len(whole) != d.Response.Bytes || !strings.HasPrefix(string(whole), d.Response.Text) {
		t.Errorf("%d bytes of %d, %v", len(whole), d.Response.Bytes, err)
	}
	if _, err := v.Body(t.Context(), "1", 3); !errors.Is(err, view.ErrGone) {
		t.Errorf("a frame that is not there: %v", err)
	}
}

func TestManyBarsAreMerged(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		text.WriteString(called(1, i+1, i*10, 5, "a", "{}", okResult))
	}
	v := views(t, made(t, text.String()), view.Options{})
	lanes, err := v.Lanes(t.Context(), view.Query{}, time.Time{}, time.Time{})
	if err != nil || len(lanes) != 1 {
		t.Fatal(len(lanes), err)
	}
	sum := 0
	for _, b := range lanes[0].Bars {
		sum += b.Times
	}
	if n := len(lanes[0].Bars); n > 2001 || n < 1000 || sum != 5000 {
		t.Errorf("%d bars for %d calls", n, sum)
	}
	part, err := v.Lanes(t.Context(), view.Query{}, now.Add(-time.Hour), now.Add(-time.Hour+time.Second))
	if err != nil || len(part[0].Bars) != 101 {
		t.Errorf("the first second has %d bars, %v", len(part[0].Bars), err)
	}
}

// An exchange that is open for an hour does not join the bars of all others.
func TestBarsBesideAnOpenExchange(t *testing.T) {
	var text strings.Builder
	text.WriteString(`@2 0 > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang","arguments":{}}}` + "\n")
	for i := range 5000 {
		text.WriteString(called(1, i+1, i*10, 5, "a", "{}", okResult))
	}
	lanes, err := views(t, made(t, text.String()), view.Options{}).Lanes(t.Context(), view.Query{}, time.Time{}, time.Time{})
	if err != nil || len(lanes) != 2 {
		t.Fatal(len(lanes), err)
	}
	for _, lane := range lanes {
		if n := len(lane.Bars); n != 1 && n < 500 {
			t.Errorf("%s: %d bars", lane.Talk, n)
		}
	}
}

// An exchange that waits for the user, was cancelled or is open did not fail; if one bar represents
// several, a failed exchange gives the outcome.
func TestBarsThatFailed(t *testing.T) {
	asks := `{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"roots/list"}}}`
	cancelled := `
@1 20 > {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"c","arguments":{}}}
@1 25 > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}
`
	text := called(1, 1, 0, 5, "a", "{}", okResult) + called(1, 2, 10, 5, "b", "{}", asks) + cancelled + called(1, 4, 30, 5, "d", "{}", badResult)
	v := views(t, made(t, text), view.Options{})
	lanes, err := v.Lanes(t.Context(), view.Query{}, time.Time{}, time.Time{})
	if err != nil || len(lanes) != 1 {
		t.Fatal(len(lanes), err)
	}
	var got []string
	for _, b := range lanes[0].Bars {
		got = append(got, fmt.Sprint(b.Channel, " ", b.Failed))
	}
	want := []string{"ok false", "input_required false", "cancelled false", "tool_error true"}
	if !slices.Equal(got, want) {
		t.Errorf("bars %q, want %q", got, want)
	}
	if st := v.Status(); st.Failed != 1 {
		t.Errorf("%d failed, want 1", st.Failed)
	}

	var many strings.Builder
	many.WriteString(strings.ReplaceAll(cancelled, `"id":3`, `"id":9000`))
	for i := range 3000 {
		many.WriteString(called(1, i+1, i*10, 5, "a", "{}", map[bool]string{true: badResult, false: okResult}[i%2 == 1]))
	}
	v = views(t, made(t, many.String()), view.Options{})
	if lanes, err = v.Lanes(t.Context(), view.Query{}, time.Time{}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	for _, b := range lanes[0].Bars {
		if b.Failed != (b.Channel == "tool_error") || b.Times > 3 && !b.Failed {
			t.Fatalf("a bar of %d is %s, failed: %t", b.Times, b.Channel, b.Failed)
		}
	}
}

// Each stateless request has a separate connection.
func TestRequestsThatStandAloneAreOneConversation(t *testing.T) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"NAME","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	ask := func(conn, ms, id, client string) string {
		m := strings.ReplaceAll(meta, "NAME", client)
		return "@" + conn + " " + ms + ` > 1 {"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"a","arguments":{},` + m + "}}\n" +
			"@" + conn + " " + ms + ` < 1 {"jsonrpc":"2.0","id":` + id + `,"result":` + okResult + "}\n"
	}
	v := views(t, made(t, ask("1", "1", "1", "claude")+ask("2", "2", "2", "claude")+ask("3", "3", "3", "cursor")+ask("4", "4", "4", "claude")), view.Options{})
	talks := v.Conversations()
	if len(talks) != 2 || talks[0].Rows != 3 || talks[1].Rows != 1 {
		t.Fatalf("%+v", talks)
	}
	page, err := v.Rows(t.Context(), view.Query{Talk: talks[0].ID})
	if err != nil || page.Total != 3 || page.Rows[2].Key != "4" || page.Rows[2].Talk != talks[0].ID {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestLargeExchangesAreNotReadAsAWhole(t *testing.T) {
	long := strings.Repeat("x", 5<<20)
	v := views(t, made(t, `0 > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{}}}
5 < {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`+long+`"}]}}`), view.Options{})
	blocks, _, err := v.Talk(t.Context(), view.Query{})
	if err != nil || len(blocks[0].Lines) != 2 || !strings.HasPrefix(blocks[0].Lines[1].Text, "the messages have 5.2 MB together") {
		t.Errorf("%+v, %v", blocks, err)
	}
	if d, err := v.Detail(t.Context(), "1"); err != nil || d.Response == nil || d.Response.Bytes < 5<<20 {
		t.Errorf("%+v, %v", d.Response, err)
	}
}

func TestGroupHasPercentiles(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		text.WriteString(called(1, i+1, i*1000, i+1, "a", "{}", okResult))
	}
	v := views(t, made(t, text.String()), view.Options{})
	for key, want := range map[string]string{
		"100": "the slowest of 100 tools/call a (p50 50 ms)", "97": "slower than 96 % of tools/call a (p50 50 ms)",
		"3": "quicker than 97 % of tools/call a (p50 51 ms)",
	} {
		if d, err := v.Detail(t.Context(), key); err != nil || d.Group != want {
			t.Errorf("%s: %q, %v", key, d.Group, err)
		}
	}
}

func TestFileHasNoOpenRows(t *testing.T) {
	v := views(t, made(t, busy), view.Options{File: true})
	rows, err := v.Rows(t.Context(), view.Query{Filter: "is:open"})
	if err != nil || len(rows.Rows) != 1 || rows.Rows[0].State != "done" || rows.Rows[0].Seconds != 0 {
		t.Errorf("%+v, %v", rows.Rows, err)
	}
	d, err := v.Detail(t.Context(), "4")
	if err != nil || len(d.Stderr) != 1 || !strings.HasPrefix(d.Stderr[0], "cannot log in") {
		t.Errorf("%q, %v", d.Stderr, err)
	}
}

// A stream that lost the response is listed, even if it had no event and was not cut; a request
// that reached no server had no stream.
func TestAStreamThatLostTheAnswerIsListed(t *testing.T) {
	v := views(t, made(t, `
0 > 3 POST
0 > 3 `+slowCall+`
20 < 3 200 text/event-stream
30 < 3 end
40 > 4 POST
40 > 4 {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"empty"}}
50 < 4 200 application/json
60 < 4 end
70 > 5 POST
70 > 5 {"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"refused"}}
71 < 5 cut dial tcp 127.0.0.1:1: connect: connection refused
`), view.Options{})
	streams, err := v.Streams(t.Context(), view.Query{})
	if err != nil || len(streams) != 1 || streams[0].What != "response to tools/call slow" ||
		!streams[0].IsResponse || streams[0].Method != "tools/call" || streams[0].Name != "slow" || !streams[0].Problem || streams[0].Open ||
		streams[0].Text != "cut by the server; never resumed: the answer is lost" {
		t.Errorf("%+v, %v", streams, err)
	}
}

// The call of a command is open while the process runs that records it.
func TestCallOfRunningCommandIsOpen(t *testing.T) {
	over := exec.Command(os.Args[0], "-test.run=^$")
	if err := over.Run(); err != nil {
		t.Fatal(err)
	}
	for by, want := range map[string]string{
		`"by":"command"`: "done 0", fmt.Sprintf(`"by":"command","pid":%d`, os.Getpid()): "open 3600", fmt.Sprintf(`"by":"command","pid":%d`, over.Process.Pid): "done 0",
		`"by":"tap"`: "open 3600", fmt.Sprintf(`"by":"tap","pid":%d`, over.Process.Pid): "done 0",
	} {
		path := made(t, `0 > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`)
		raw, err := os.ReadFile(path)
		if err != nil || os.WriteFile(path, bytes.Replace(raw, []byte(`"by":"proxy"`), []byte(by), 1), 0o600) != nil {
			t.Fatal(err)
		}
		rows, err := views(t, path, view.Options{}).Rows(t.Context(), view.Query{Filter: "is:open"})
		if got := fmt.Sprint(rows.Rows[0].State, " ", rows.Rows[0].Seconds); err != nil || got != want {
			t.Errorf("%s: %s, want %s (%v)", by, got, want, err)
		}
	}
}

func TestResumedStreamIsNoProblem(t *testing.T) {
	for i, want := range map[int]bool{0: false, 1: true} {
		streams, err := views(t, made(t, stories[i].capture), view.Options{}).Streams(t.Context(), view.Query{})
		if err != nil || len(streams) != 1 || streams[0].Problem != want || streams[0].Text != stories[i].cut {
			t.Errorf("%+v, %v", streams, err)
		}
	}
}
