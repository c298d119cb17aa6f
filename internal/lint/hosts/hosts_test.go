package hosts

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryHostHasItsSource(t *testing.T) {
	if len(All()) < 5 {
		t.Fatal(All())
	}
	for _, h := range All() {
		if h.Title == "" || len(h.Date) < len("2026-01") || h.Source == "" || len(h.Data) == 0 {
			t.Errorf("incomplete: %+v", h)
		}
	}
}

func TestTableErrors(t *testing.T) {
	for _, text := range []string{"title x", "host a\n name x", "host a\n refuse not @guess", "host a\n colour red @read", "host a\n name ( @read"} {
		if _, err := parse(text); err == nil {
			t.Errorf("no error: %q", text)
		}
	}
}

// Each line has a property of a tool, and the verdicts of openai-strict, anthropic,
// anthropic-strict, gemini and claude-code.
func TestMatrix(t *testing.T) {
	const closed = `"type":"object","additionalProperties":false`
	for _, test := range []struct{ name, schema, want string }{
		{"t", `{` + closed + `}`, "ok ok ok ok ok"},
		{"t", `{"type":"object"}`, "refused ok ok ok ok"},
		{"a.b", `{` + closed + `}`, "refused refused refused ok ok"},
		{"a b", `{` + closed + `}`, "refused refused refused unclear ok"},
		{strings.Repeat("a", 65), `{` + closed + `}`, "refused ok ok unclear ok"},
		{"t", `{` + closed + `,"properties":{"a":{"type":"string"}}}`, "refused ok ok ok ok"},
		{"t", `{` + closed + `,"properties":{"a":{"type":"string"}},"required":["a"]}`, "ok ok ok ok ok"},
		{"t", `{` + closed + `,"properties":{"a-b":{"type":"string"}},"required":["a-b"]}`, "ok ok ok refused ok"},
		{"t", `{` + closed + `,"properties":{"$a":{"type":"string"}},"required":["$a"]}`, "ok refused refused refused ok"},
		{
			"t", `{` + closed + `,"properties":{"a":{` + closed + `,"properties":{"$a":{"type":"string"}},"required":["$a"]}},"required":["a"]}`,
			"ok ok ok ok ok",
		},
		{"t", `{` + closed + `,"properties":{"a":true},"required":["a"]}`, "refused ok ok ok refused"},
		{"t", `{` + closed + `,"anyOf":[{}]}`, "refused ok ok ok ok"},
		{"t", `{` + closed + `,"properties":{"a":{"oneOf":[{}]}},"required":["a"]}`, "changed ok changed changed ok"},
		{"t", `{` + closed + `,"properties":{"a":{"allOf":[{}]}},"required":["a"]}`, "unclear ok ok unclear ok"},
		{"t", `{` + closed + `,"properties":{"a":{"not":{}}},"required":["a"]}`, "refused ok changed unclear ok"},
		{"t", `{` + closed + `,"properties":{"a":{"format":"int32"}},"required":["a"]}`, "changed ok changed ok ok"},
		{"t", `{` + closed + `,"properties":{"a":{"$ref":"https://x/y"}},"required":["a"]}`, "refused ok refused ok ok"},
		{"t", `{` + closed + `,"properties":{"a":{"$ref":"#"}},"required":["a"]}`, "ok ok refused ok ok"},
	} {
		tool := fmt.Appendf(nil, `{"name":%q,"inputSchema":%s}`, test.name, test.schema)
		var got []string
		for _, c := range Matrix([]json.RawMessage{tool})[0].Cells {
			got = append(got, string(c.Verdict))
			if (c.Verdict == Accepted) != (len(c.Problems) == 0) {
				t.Errorf("%s: %s with %v", tool, c.Verdict, c.Problems)
			}
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s\n%s", tool, diff)
		}
	}
}

func TestLimits(t *testing.T) {
	properties := make([]string, 30)
	for i := range properties {
		properties[i] = fmt.Sprintf(`"p%d":{"type":"string"}`, i)
	}
	tool := []byte(`{"name":"t","inputSchema":{"type":"object","properties":{` + strings.Join(properties, ",") + `}}}`)
	found := false
	for _, c := range Matrix([]json.RawMessage{tool})[0].Cells {
		for _, p := range c.Problems {
			found = found || c.Host == "anthropic-strict" && p.Text == "30 optional, more than 24" && p.Certainty == Second
		}
	}
	if !found {
		t.Error("30 optional parameters are accepted")
	}
}

func FuzzMatrix(f *testing.F) {
	f.Add([]byte(`{"name":"t","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"not":{}}}}}`))
	f.Add([]byte(`{"inputSchema":{"items":[true,{"$ref":"#//0"}],"dependencies":{"a":["b"]}}}`))
	f.Fuzz(func(t *testing.T, tool []byte) {
		if rows := Matrix([]json.RawMessage{tool}); len(rows[0].Cells) != len(All()) {
			t.Fatal(rows)
		}
	})
}
