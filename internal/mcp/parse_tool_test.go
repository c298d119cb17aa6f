package mcp

import (
	"cmp"
	"encoding/json"
	"reflect"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// parseMembers is ParseTool without a tape: its oracle.
func parseMembers(raw json.RawMessage) (Tool, *wire.Finding) {
	members, err := jsonraw.Object(raw)
	if err != nil {
		return Tool{}, badEntry("tool", "the entry is not an object: %s", jsonraw.Excerpt(raw, 60))
	}
	t := Tool{
		Raw: raw, Name: members.Text("name"), Title: members.Text("title"), Description: members.Text("description"),
		InputSchema: valueOrNone(members, "inputSchema"), OutputSchema: valueOrNone(members, "outputSchema"),
		Meta: valueOrNone(members, "_meta"),
	}
	if t.Name == "" {
		return Tool{}, missingMember("tool", "name", members.Value("name"))
	}
	if len(t.InputSchema) == 0 || t.InputSchema[0] != '{' {
		return Tool{}, badEntry("tool", "the tool %q has no inputSchema object", t.Name)
	}
	t.TaskSupport, _ = jsonraw.Text(jsonraw.First(members.Value("execution"), "taskSupport"))
	t.UI, _ = jsonraw.Text(jsonraw.First(t.Meta, "ui/resourceUri"))
	if uri, ok := jsonraw.Text(jsonraw.First(jsonraw.First(t.Meta, "ui"), "resourceUri")); ok {
		t.UI = uri
	}
	t.AppOnly = AppOnly(t.Meta)
	if hints, err := jsonraw.Object(members.Value("annotations")); err == nil {
		t.Title = cmp.Or(t.Title, hints.Text("title"))
		for name, to := range map[string]**bool{
			"readOnlyHint": &t.Hints.ReadOnly, "destructiveHint": &t.Hints.Destructive,
			"idempotentHint": &t.Hints.Idempotent, "openWorldHint": &t.Hints.OpenWorld,
		} {
			if value := string(hints.Value(name)); value == "true" || value == "false" {
				*to = new(value == "true")
			}
		}
	}
	return t, nil
}

// valueOrNone returns the value of a member; nil if it is absent or null.
func valueOrNone(members jsonraw.Members, name string) json.RawMessage {
	if value := members.Value(name); string(value) != "null" {
		return value
	}
	return nil
}

func FuzzParseTool(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","title":"b","description":"c\nd","inputSchema":{"type":"object"},"outputSchema":{},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":"x","title":"y"}}`,
		`{"n\u0061me":"a","inputSchema":{},"_meta":{"ui":{"resourceUri":"ui://a","visibility":["app"]}},"execution":{"taskSupport":"optional"}}`,
		`{"name":"a","name":"b","inputSchema":{},"inputSchema":[],"_meta":{"ui/resourceUri":"ui://b"}}`, `{"name":"a","inputSchema":[],"inputSchema":{}}`,
		`{"name":1,"inputSchema":{}}`, `{"name":"","inputSchema":{}}`, `{"inputSchema":{}}`, `{"name":"a"}`, `[]`, `{"name":"a","inputSchema":{}}x`, `{"name":"\ud800","inputSchema":{},"annotations":[]}`, ``,
		`{"name":"a","inputSchema":{},"outputSchema":null,"_meta":null,"annotations":null,"execution":null,"title":null}`,
		`{"name":null}`,
		` { "name" : "a" , "inputSchema" : { } , "execution" : 1 , "annotations" : { "openWorldHint" : true } } `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, bad := ParseTool(raw)
		want, wrong := parseMembers(raw)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(bad, wrong) {
			t.Errorf("got %+v %+v\nwant %+v %+v", got, bad, want, wrong)
		}
		if name, ok := ToolName(raw); ok != (wrong == nil) || ok && name != want.Name {
			t.Errorf("the name is %q %t, want %q %+v", name, ok, want.Name, wrong)
		}
	})
}
