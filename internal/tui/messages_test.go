package tui

import (
	"strings"
	"testing"

	"mcpc/internal/live/view"
)

// The request and the response in the summary.
func TestSummaryShowsMessages(t *testing.T) {
	body := func(text string) *view.Body {
		if text == "" {
			return nil
		}
		return &view.Body{Text: text}
	}
	for _, c := range []struct{ method, request, response, want string }{
		{
			"tools/call", `{"id":1,"method":"tools/call","params":{"name":"add","arguments":{"a": 1, "b": 2},"_meta":{"x":1}}}`, `{"id":1,"result":{"content":[{"type":"text","text":"The sum\nis 3."},{"type":"image","data":"AA=="}]}}`,
			"arguments  {\"a\":1,\"b\":2}\nresult     The sum\n           is 3.\n           [image]",
		},
		{"tools/call", `{"id":1,"method":"tools/call","params":{"name":"add"}}`, `{"id":1,"result":{"content":[],"structuredContent":{"sum": 3}}}`, `result  {"sum":3}`},
		{"resources/read", `{"id":1,"params":{"uri":"demo://x","_meta":{}}}`, `{"id":1,"error":{"code":-32002,"message":"none"}}`, "params  {\"uri\":\"demo://x\"}\nerror   {\"code\":-32002,\"message\":\"none\"}"},
		{"resources/read", "", `{"id":1,"result":{"contents":[{"uri":"demo://x","text":"one\ntwo"},{"uri":"demo://y","mimeType":"image/png","blob":"AA=="}]}}`, "result  one\n        two\n        [image/png]"},
		{"prompts/get", "", `{"id":1,"result":{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}},{"role":"assistant","content":{"type":"audio"}}]}}`, "result  user: Hi\n        assistant: [audio]"},
		{"ping", `{"id":1,"method":"ping"}`, `{"id":1,"result":{"_meta":{"y":1}}}`, ""},
		{"tools/call", `{"id":1,"params":{"name":"add"}}`, "", ""},
		{"tools/call", `{"id":1,"params":{"name":"add"}}`, "<html>busy</html>", "answer  <html>busy</html>"},
	} {
		d := detail{doc: &view.Detail{Row: view.Row{Method: c.method, State: "done"}, Request: body(c.request), Response: body(c.response)}}
		var got []string
		for _, f := range d.tabLines(screenClock{}, 60) {
			got = append(got, strings.TrimRight(f.line.String(), " "))
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s %s %s: the summary is\n%s\nwant\n%s", c.method, c.request, c.response, strings.Join(got, "\n"), c.want)
		}
	}
}

// A fact that the summary shows as a part of the messages is not shown twice.
func TestSummaryShowsEachFactOnce(t *testing.T) {
	d := detail{doc: &view.Detail{
		Row: view.Row{Method: "tools/call", State: "done"}, Facts: [][2]string{{"outcome", "ok"}, {"arguments", "{}"}},
		Request: &view.Body{Text: `{"params":{"name":"add","arguments":{"a":1}}}`},
	}}
	var got []string
	for _, f := range d.tabLines(screenClock{}, 60) {
		got = append(got, f.line.String())
	}
	if want := "arguments  {\"a\":1}\noutcome    ok"; strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// A long text is cut, and its tab is named; a text that the summary has already is not repeated.
func TestSummaryCutsMessages(t *testing.T) {
	long := strings.Repeat("line\\n", 50_000)
	d := detail{doc: &view.Detail{Row: view.Row{Method: "tools/call", State: "done"}, Response: &view.Body{Text: `{"result":{"content":[{"type":"text","text":"` + long + `"}]}}`}}}
	lines := d.tabLines(screenClock{}, 60)
	if len(lines) != maxResponseLines+1 || !strings.Contains(lines[maxResponseLines].line.String(), "… more in Answer") {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1].line.String())
	}
	d.doc.Row.Text = "it broke"
	d.doc.Response.Text = `{"result":{"isError":true,"content":[{"type":"text","text":"it broke"}]}}`
	if lines := d.tabLines(screenClock{}, 60); len(lines) > 2 {
		t.Errorf("%d lines", len(lines))
	}
}

// A sign of the tab Compare stays beside its value, even if the value cannot be broken.
func TestDiffKeepsItsSigns(t *testing.T) {
	long := `"` + strings.Repeat("x", 70) + `"`
	d := detail{key: "1.2", tab: tabDiff, doc: &view.Detail{}, diff: diff{otherKey: "1.1", otherName: "the previous call", request: []view.Change{{Pointer: "/a", Was: []byte("1"), Is: []byte(long)}}}}
	var got []string
	for _, f := range d.tabLines(screenClock{}, 60) {
		got = append(got, f.line.String())
	}
	want := "- 1.1, the previous call   + 1.2, this exchange\n\nrequest\n/a\n- 1\n+ " + long[:56] + "\n  " + long[56:] + "\n\nresponse\nthe same"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}
