package mcp

import (
	"encoding/json"
	"slices"
	"testing"
)

const page = `"uri":"ui://x/a","mimeType":"text/html;profile=mcp-app","text":"<!DOCTYPE html><p>é"`

func TestAppOf(t *testing.T) {
	for _, c := range []struct {
		name, meta, content     string
		policy                  string
		origins, shown, problem []string
	}{
		{
			"no csp", `{"ui":{"resourceUri":"ui://x/a"}}`, `{` + page + `}`,
			"default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'",
			[]string{},
			[]string{"model", "app"},
			[]string{},
		},
		{
			"all domains", `{"ui":{"resourceUri":"ui://x/a","visibility":["app"]}}`,
			`{` + page + `,"_meta":{"ui":{"csp":{"connectDomains":["https://c"],"resourceDomains":["https://*.r","https://c"],"frameDomains":["https://f"],"baseUriDomains":["https://b"]}}}}`,
			"default-src 'none'; script-src 'self' 'unsafe-inline' https://*.r https://c; style-src 'self' 'unsafe-inline' https://*.r https://c; connect-src 'self' https://c; " +
				"img-src 'self' data: https://*.r https://c; font-src 'self' https://*.r https://c; media-src 'self' data: https://*.r https://c; frame-src https://f; object-src 'none'; base-uri https://b",
			[]string{"https://c", "https://*.r", "https://f", "https://b"},
			[]string{"app"},
			[]string{},
		},
		{
			"a directive in an origin", `{"ui":{"resourceUri":"ui://x/a"}}`,
			`{` + page + `,"_meta":{"ui":{"csp":{"connectDomains":["https://c; script-src *","https://d"],"frameDomains":[1]}}}}`,
			"default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; connect-src 'self' https://d; " +
				"img-src 'self' data:; font-src 'self'; media-src 'self' data:; frame-src 'none'; object-src 'none'; base-uri 'self'",
			[]string{"https://d"},
			[]string{"model", "app"},
			[]string{"csp.connectDomains has an entry that is not an origin"},
		},
		{
			"neither page nor ui", `{"ui/resourceUri":"https://x"}`, `{"mimeType":"text/html","blob":"PGE+!"}`,
			"default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'",
			[]string{},
			[]string{"model", "app"},
			[]string{"the URI does not begin with ui://", "mimeType is not text/html;profile=mcp-app", "blob is not base64", "the content is not an HTML document"},
		},
	} {
		tool, _ := ParseTool(json.RawMessage(`{"name":"t","inputSchema":{"type":"object"},"_meta":` + c.meta + `}`))
		a := AppOf(tool, []json.RawMessage{json.RawMessage(c.content)})
		if a.Page.Policy != c.policy {
			t.Errorf("%s: the policy is\n%s, want\n%s", c.name, a.Page.Policy, c.policy)
		}
		if !slices.Equal(a.Page.Origins, c.origins) || !slices.Equal(a.Visibility, c.shown) || !slices.Equal(a.Problems, c.problem) || a.DeprecatedKey != (c.name == "neither page nor ui") {
			t.Errorf("%s: %+v, %+v", c.name, a, a.Page)
		}
	}
	tool, _ := ParseTool(json.RawMessage(`{"name":"t","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://x/a"}}}`))
	if a := AppOf(tool, nil); a.Page != nil || len(a.Problems) != 1 {
		t.Errorf("not read: %+v", a)
	}
	if a := AppOf(tool, []json.RawMessage{}); a.Page == nil || len(a.Problems) != 1 {
		t.Errorf("nothing in it: %+v", a)
	}
	raw, _ := json.Marshal(AppOf(tool, []json.RawMessage{json.RawMessage(`{` + page + `}`)}))
	want := `{"tool":"t","resourceUri":"ui://x/a","visibility":["model","app"],"deprecatedKey":false,"page":{"mimeType":"text/html;profile=mcp-app","bytes":20,` +
		`"sha256":"0b5e22ab9f1f58abf272dc13def19aa955daddf6ad646b5aaf1c3699f256146e","declared":null,"policy":"default-src 'none'; script-src 'self' 'unsafe-inline'; ` +
		`style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'","origins":[],"permissions":[]},"problems":[]}`
	if string(raw) != want {
		t.Errorf("as JSON\n%s, want\n%s", raw, want)
	}
}
