package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// The table of 2026-07-28 basic/transports/streamable-http, "Value encoding",
// and the values around its edges.
//
// rules 151, 155
func TestHeaderCodec(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{"eu-1", "eu-1"},
		{"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
		{" padded ", "=?base64?IHBhZGRlZCA=?="},
		{"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
		{"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
		{"=?BASE64?eA==?=", "=?BASE64?eA==?="},
		{"", ""},
		{"a b", "a b"},
		{"~!\"#%&'()*+,/:;<=>?@[\\]^_`{|}", "~!\"#%&'()*+,/:;<=>?@[\\]^_`{|}"},
		{"=?base64?", "=?base64?"},
		{"x=?base64?eA==?=", "x=?base64?eA==?="},
		{"=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="},
		{"a\tb", "=?base64?YQli?="},
		{"\tb", "=?base64?CWI=?="},
		{"a\x00b", "=?base64?YQBi?="},
		{"a\x7f", "=?base64?YX8=?="},
		{"x\r\nX-Evil: 1", "=?base64?eA0KWC1FdmlsOiAx?="},
		{" ", "=?base64?IA==?="},
	} {
		got := EncodeHeader(c.value)
		if got != c.want {
			t.Errorf("encode %q: got %q, want %q", c.value, got, c.want)
		}
		if back, ok := decodeHeader(got); !ok || back != c.value {
			t.Errorf("decode %q: got %q %t, want %q", got, back, ok, c.value)
		}
	}
}

// decodeHeader reverses the encoding, and reports false if a marked value is not canonical base64
// of UTF-8.
func decodeHeader(value string) (string, bool) {
	if !strings.HasPrefix(value, sentinelStart) || !strings.HasSuffix(value, sentinelEnd) || len(value) < len(sentinelStart)+len(sentinelEnd) {
		return value, true
	}
	inner := value[len(sentinelStart) : len(value)-len(sentinelEnd)]
	raw, err := base64.StdEncoding.Strict().DecodeString(inner)
	// The decoder skips line ends everywhere.
	return string(raw), err == nil && utf8.Valid(raw) && !strings.ContainsAny(inner, "\r\n")
}

func FuzzHeaderCodec(f *testing.F) {
	for _, s := range []string{"", "a", "世界", " a", "a\r\nb", "=?base64?eA==?=", "=?base64?=", "\xff", "\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := EncodeHeader(s)
		for i := range len(got) {
			if got[i] < 0x20 || got[i] > 0x7E {
				t.Fatalf("%q: %q is no field value", s, got)
			}
		}
		if got != strings.Trim(got, " \t") {
			t.Fatalf("%q: %q would lose its ends", s, got)
		}
		// JSON strings, where values come from, are always UTF-8.
		if back, ok := decodeHeader(got); utf8.ValidString(s) && (!ok || back != s) {
			t.Fatalf("%q: %q comes back as %q %t", s, got, back, ok)
		}
	})
}

// rules 152, 154
func TestHeaderParams(t *testing.T) {
	for _, c := range []struct {
		name, schema, arguments string
		want                    []string
	}{
		{"no annotation", `{"properties":{"a":{"type":"string"}}}`, `{"a":"x"}`, nil},
		{
			"string, integer, boolean", `{"properties":{"s":{"type":"string","x-mcp-header":"S"},"i":{"type":"integer","x-mcp-header":"I"},"b":{"type":"boolean","x-mcp-header":"B"}}}`,
			`{"s":"x","i":-7,"b":false}`,
			[]string{"Mcp-Param-S: x", "Mcp-Param-I: -7", "Mcp-Param-B: false"},
		},
		{
			"nested", `{"properties":{"a":{"properties":{"b":{"properties":{"c":{"type":"string","x-mcp-header":"C"}}}}}}}`,
			`{"a":{"b":{"c":"deep"}}}`,
			[]string{"Mcp-Param-C: deep"},
		},
		{
			"absent, null and empty", `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"n":{"type":"string","x-mcp-header":"N"},"e":{"type":"string","x-mcp-header":"E"}}}`,
			`{"n":null,"e":""}`,
			[]string{"Mcp-Param-E: "},
		},
		{"defaults are not applied", `{"properties":{"a":{"type":"string","default":"d","x-mcp-header":"A"}}}`, `{}`, nil},
		{
			"integers in other spellings", `{"properties":{"a":{"type":"integer","x-mcp-header":"A"},"b":{"type":"integer","x-mcp-header":"B"},"c":{"type":"integer","x-mcp-header":"C"}}}`,
			`{"a":1e3,"b":42.0,"c":9007199254740991}`,
			[]string{"Mcp-Param-A: 1000", "Mcp-Param-B: 42", "Mcp-Param-C: 9007199254740991"},
		},
		{
			"not what the schema says", `{"properties":{"a":{"type":"integer","x-mcp-header":"A"},"b":{"type":"boolean","x-mcp-header":"B"}}}`,
			`{"a":"x y ","b":[1]}`,
			[]string{"Mcp-Param-A: =?base64?eCB5IA==?=", "Mcp-Param-B: [1]"},
		},
		{"numbers without an end", `{"properties":{"a":{"type":"integer","x-mcp-header":"A"}}}`, `{"a":1e999999999}`, []string{"Mcp-Param-A: 1e999999999"}},
		{"the path leads nowhere", `{"properties":{"a":{"properties":{"b":{"type":"string","x-mcp-header":"B"}}}}}`, `{"a":"x"}`, nil},
		{"no arguments", `{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`, ``, nil},
		{"an invalid tool has none", `{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, `{"a":1}`, nil},
		{"unsafe values", `{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`, `{"a":"x\r\nX-Evil: 1"}`, []string{"Mcp-Param-A: =?base64?eA0KWC1FdmlsOiAx?="}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range HeaderFields(json.RawMessage(c.schema), json.RawMessage(c.arguments)) {
				got = append(got, f.Name+": "+f.Value)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Integers that a header field cannot carry are named, however they are written.
func TestHeaderUnsafe(t *testing.T) {
	const schema = `{"properties":{"a":{"type":"integer","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"B"},"c":{"type":"integer"}}}`
	for value, unsafe := range map[string]bool{
		"1": false, "-9007199254740991": false, "9007199254740991": false, "9007199254740991.0": false, "null": false,
		"9007199254740992": true, "-9007199254740992": true, "9007199254740993": true, "1e30": true, "-1e80": true, "1e999999999": true, `"x"`: false,
	} {
		found := UnsafeHeaders(json.RawMessage(schema), json.RawMessage(`{"a":`+value+`,"b":"9007199254740992","c":9007199254740992}`))
		if (len(found) == 1 && found[0].Pointer == "/a") != unsafe || len(found) > 1 {
			t.Errorf("%s: got %v", value, found)
		}
	}
}

// rules 156
func TestHeaderProblem(t *testing.T) {
	annotated := `{"type":"string","x-mcp-header":"A"}`
	property := func(s string) string { return `{"properties":{"p":` + s + `}}` }
	valid := map[string]string{
		"plain":                       property(annotated),
		"every token character":       property("{\"type\":\"string\",\"x-mcp-header\":\"!#$%&'*+-.^_`|~09azAZ\"}"),
		"Method and Name are free":    `{"properties":{"a":{"type":"string","x-mcp-header":"Method"},"b":{"type":"string","x-mcp-header":"Name"}}}`,
		"a property of that name":     `{"properties":{"x-mcp-header":{"type":"number"}}}`,
		"data in default":             `{"properties":{"p":{"type":"object","default":{"x-mcp-header":"a b"}}}}`,
		"data in const and enum":      `{"properties":{"p":{"const":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}],"examples":[{"x-mcp-header":""}]}}}`,
		"no schema at all":            `null`,
		"required names it":           `{"required":["x-mcp-header"],"properties":{}}`,
		"far down without annotation": property(strings.Repeat(`{"properties":{"p":`, 80) + `{"description":"\u2019"}` + strings.Repeat(`}}`, 80)),
	}
	for name, schema := range valid {
		if got := HeaderProblem(json.RawMessage(schema)); got != "" {
			t.Errorf("%s: got %q, want no problem", name, got)
		}
	}
	invalid := map[string]string{
		"empty":              property(`{"type":"string","x-mcp-header":""}`),
		"space":              property(`{"type":"string","x-mcp-header":"a b"}`),
		"colon":              property(`{"type":"string","x-mcp-header":"a:b"}`),
		"line end":           property(`{"type":"string","x-mcp-header":"A\r\nB"}`),
		"not ASCII":          property(`{"type":"string","x-mcp-header":"é"}`),
		"no string":          property(`{"type":"string","x-mcp-header":1}`),
		"null":               property(`{"type":"string","x-mcp-header":null}`),
		"number":             property(`{"type":"number","x-mcp-header":"A"}`),
		"object":             property(`{"type":"object","x-mcp-header":"A"}`),
		"a list of types":    property(`{"type":["string","null"],"x-mcp-header":"A"}`),
		"no type":            property(`{"x-mcp-header":"A"}`),
		"root":               `{"type":"string","x-mcp-header":"A"}`,
		"twice":              `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
		"one of two":         `{"properties":{"a":` + annotated + `,"b":{"type":"string","x-mcp-header":"b b"}}}`,
		"an escaped keyword": property(`{"type":"number","x-mcp-heade\u0072":"A"}`),
		"reached by $ref":    `{"properties":{"p":{"$ref":"#/$defs/d"}},"$defs":{"d":` + annotated + `}}`,
		"too deep":           property(strings.Repeat(`{"properties":{"p":`, 80) + annotated + strings.Repeat(`}}`, 80)),
	}
	for _, keyword := range []string{
		"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else",
		"unevaluatedProperties", "unevaluatedItems", "additionalItems", "contentSchema",
	} {
		invalid["under "+keyword] = property(fmt.Sprintf(`{"type":"object",%q:%s}`, keyword, annotated))
		invalid["properties under "+keyword] = fmt.Sprintf(`{%q:{"properties":{"p":%s}}}`, keyword, annotated)
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "prefixItems", "items"} {
		invalid["in the list "+keyword] = property(fmt.Sprintf(`{%q:[true,%s]}`, keyword, annotated))
	}
	for _, keyword := range []string{"patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"} {
		invalid["in the map "+keyword] = property(fmt.Sprintf(`{%q:{"k":%s}}`, keyword, annotated))
	}
	for name, schema := range invalid {
		if got := HeaderProblem(json.RawMessage(schema)); got == "" {
			t.Errorf("%s: %s has no problem, want one", name, schema)
		}
	}
}

// rules 156
func TestJudgeHeaderName(t *testing.T) {
	for _, c := range []struct {
		name, raw, kind string
		reachable       bool
		want            HeaderFault
	}{
		{"a string", `"A"`, "string", true, HeaderValid},
		{"an integer", `"A"`, "integer", true, HeaderValid},
		{"a boolean", `"A"`, "boolean", true, HeaderValid},
		{"a number", `"A"`, "number", true, HeaderWrongType},
		{"no type", `"A"`, "", true, HeaderWrongType},
		{"unreachable", `"A"`, "string", false, HeaderUnreachable},
		{"unreachable, of another type", `"A"`, "number", false, HeaderUnreachable},
		{"a used name", `"Used"`, "string", true, HeaderRepeated},
		{"a used name, unreachable, of another type", `"uSED"`, "number", false, HeaderRepeated},
		{"no token", `"A B"`, "number", false, HeaderNoToken},
		{"empty", `""`, "string", true, HeaderNoToken},
		{"no string", `1`, "string", true, HeaderNoToken},
		{"null", `null`, "string", true, HeaderNoToken},
	} {
		used := map[string]bool{"used": true}
		got := JudgeHeaderName(json.RawMessage(c.raw), c.kind, c.reachable, used)
		if got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
		if got != HeaderNoToken && got != HeaderRepeated && !used["a"] {
			t.Errorf("%s: the name is not noted as used", c.name)
		}
	}
}
