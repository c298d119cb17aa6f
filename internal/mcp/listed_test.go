package mcp

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePrompt(t *testing.T) {
	raw := json.RawMessage(`{"name":"p","title":"P","description":"d","arguments":[{"name":"a","required":true,"description":"x"},{"name":"b","required":"yes"},7]}`)
	got, bad := ParsePrompt(raw)
	want := Prompt{Raw: raw, Name: "p", Title: "P", Description: "d", Arguments: []PromptArgument{
		{Name: "a", Description: "x", Required: true}, {Name: "b"}, {},
	}}
	if diff := cmp.Diff(want, got); diff != "" || bad != nil {
		t.Errorf("finding %v, difference:\n%s", bad, diff)
	}
	for _, raw := range []string{`[]`, `{}`, `{"name":7}`, `{"name":""}`} {
		if _, bad := ParsePrompt(json.RawMessage(raw)); bad == nil {
			t.Errorf("%s is taken for a prompt", raw)
		}
	}
}

func TestParseResource(t *testing.T) {
	raw := json.RawMessage(`{"uri":"demo://x","name":"n","title":"t","description":"d","mimeType":"text/plain","size":7}`)
	got, bad := ParseResource(raw)
	want := Resource{Raw: raw, URI: "demo://x", Name: "n", Title: "t", Description: "d", MIMEType: "text/plain", Size: 7}
	if diff := cmp.Diff(want, got); diff != "" || bad != nil {
		t.Errorf("finding %v, difference:\n%s", bad, diff)
	}
	for _, size := range []string{`-1`, `1.5`, `"7"`, `null`} {
		got, _ := ParseResource(json.RawMessage(`{"uri":"x:y","size":` + size + `}`))
		if got.Size != -1 {
			t.Errorf("size %s is read as %d", size, got.Size)
		}
	}
	if got, bad := ParseTemplate(json.RawMessage(`{"uriTemplate":"demo://{id}"}`)); bad != nil || got.URI != "demo://{id}" {
		t.Errorf("template: %v, %v", got, bad)
	}
	for _, raw := range []string{`[]`, `{"name":"n"}`, `{"uriTemplate":"x"}`} {
		if _, bad := ParseResource(json.RawMessage(raw)); bad == nil {
			t.Errorf("%s is taken for a resource", raw)
		}
	}
}
