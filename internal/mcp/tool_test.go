package mcp

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/wire"
)

func TestParseTool(t *testing.T) {
	const schema = `"inputSchema":{"type":"object"}`
	for _, c := range []struct{ raw, want string }{
		{`{"name":"a",` + schema + `}`, `a title="" in={"type":"object"} hints=----`},
		{
			` {"name":"a","title":"T","description":"D\n",` + schema + `,"outputSchema":{ }} `,
			`a title="T" description="D\n" in={"type":"object"} out={ } hints=----`,
		},
		{
			`{"name":"a",` + schema + `,"annotations":{"title":"T","readOnlyHint":true,"destructiveHint":false,"idempotentHint":null,"openWorldHint":"true"}}`,
			`a title="T" in={"type":"object"} hints=yn--`,
		},
		{`{"name":"a","title":"T",` + schema + `,"annotations":{"title":"U","openWorldHint":true}}`, `a title="T" in={"type":"object"} hints=---y`},
		{
			`{"name":"a",` + schema + `,"annotations":[],"title":7,"outputSchema":null}`,
			`a title="" in={"type":"object"} hints=----`,
		},
		{
			`{"name":"a",` + schema + `,"title":null,"_meta":null,"execution":null,"annotations":null}`,
			`a title="" in={"type":"object"} hints=----`,
		},
		{`{"name":"a b/ü\"","inputSchema":{},"execution":{},"x":1}`, `a b/ü" title="" in={} hints=----`},
		{`{"name":"a","Name":"b",` + schema + `}`, `a title="" in={"type":"object"} hints=----`},
		{`null`, `the entry is not an object: null`},
		{`"a"`, `the entry is not an object: "a"`},
		{``, `the entry is not an object: `},
		{`{"name":"a"`, `the entry is not an object: {"name":"a"`},
		{`{` + schema + `}`, `the entry has no name`},
		{`{"name":"",` + schema + `}`, `the entry has no name`},
		{`{"name":null,` + schema + `}`, `the entry has no name`},
		{`{"name":7,` + schema + `}`, `the entry's name is not a string: 7`},
		{`{"Name":"a",` + schema + `}`, `the entry has no name`},
		{`{"name":"a"}`, `the tool "a" has no inputSchema object`},
		{`{"name":"a","inputSchema":null}`, `the tool "a" has no inputSchema object`},
		{`{"name":"a","inputSchema":true}`, `the tool "a" has no inputSchema object`},
		{`{"name":"a","inputSchema":[]}`, `the tool "a" has no inputSchema object`},
	} {
		tool, bad := ParseTool(json.RawMessage(c.raw))
		got := toolView(tool)
		if bad != nil {
			got = bad.Text
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.raw, diff)
		}
		if bad != nil && (bad.Rule != "tool" || bad.Severity != wire.Warning || tool.Raw != nil) {
			t.Errorf("%s: %+v beside %+v", c.raw, bad, tool)
		}
		if bad == nil && string(tool.Raw) != c.raw {
			t.Errorf("Raw is %s", tool.Raw)
		}
	}
}

func toolView(tool Tool) string {
	s := fmt.Sprintf("%s title=%q", tool.Name, tool.Title)
	if tool.Description != "" {
		s += fmt.Sprintf(" description=%q", tool.Description)
	}
	s += " in=" + string(tool.InputSchema)
	if tool.OutputSchema != nil {
		s += " out=" + string(tool.OutputSchema)
	}
	s += " hints="
	for _, hint := range []*bool{tool.Hints.ReadOnly, tool.Hints.Destructive, tool.Hints.Idempotent, tool.Hints.OpenWorld} {
		switch {
		case hint == nil:
			s += "-"
		case *hint:
			s += "y"
		default:
			s += "n"
		}
	}
	return s
}

func TestHintsDecideWhatMayBeCalled(t *testing.T) {
	for _, c := range []struct {
		annotations                         string
		onlyReads, isDestructive, mayRepeat bool
	}{
		{`null`, false, false, false},
		{`[]`, false, false, false},
		{`{}`, false, false, false},
		{`{"readOnlyHint":true}`, true, false, true},
		{`{"readOnlyHint":"true"}`, false, false, false},
		{`{"readOnlyHint":true,"destructiveHint":false}`, true, false, true},
		{`{"readOnlyHint":true,"destructiveHint":true}`, false, true, false},
		{`{"destructiveHint":true}`, false, true, false},
		{`{"readOnlyHint":false,"destructiveHint":false}`, false, false, false},
		{`{"readOnlyHint":false,"idempotentHint":true}`, false, false, true},
		{`{"destructiveHint":true,"idempotentHint":true}`, false, true, true},
		{`{"idempotentHint":false}`, false, false, false},
	} {
		entry := json.RawMessage(`{"name":"a","inputSchema":{"type":"object"},"annotations":` + c.annotations + `}`)
		tool, bad := ParseTool(entry)
		if bad != nil {
			t.Fatal(bad.Text)
		}
		for _, h := range []Hints{tool.Hints, ToolHints(entry)} {
			if h.OnlyReads() != c.onlyReads || h.IsDestructive() != c.isDestructive || h.MayBeRepeated() != c.mayRepeat {
				t.Errorf("%s: only reads %t, destructive %t, may be repeated %t",
					c.annotations, h.OnlyReads(), h.IsDestructive(), h.MayBeRepeated())
			}
		}
	}
	if !ToolHints(json.RawMessage(`{"annotations":{"readOnlyHint":true}}`)).OnlyReads() {
		t.Error("an entry without an inputSchema has hints too")
	}
}
