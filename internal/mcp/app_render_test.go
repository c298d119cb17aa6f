package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestUnrenderablePages(t *testing.T) {
	content := func(mimeType, text string) []json.RawMessage {
		raw, _ := json.Marshal(map[string]string{"uri": "ui://a", "mimeType": mimeType, "text": text})
		return []json.RawMessage{raw}
	}
	for _, c := range []struct {
		name, uri string
		contents  []json.RawMessage
		reason    string
	}{
		{"a page", "ui://a/../../etc/passwd", content("text/HTML; profile=mcp-app", "<html>"), ""},
		{"another scheme", "file:///a", content(PageType, "<html>"), "does not begin with ui://"},
		{"not read", "ui://a", nil, "has no content"},
		{"no contents", "ui://a", []json.RawMessage{}, "has no content"},
		{"empty", "ui://a", content(PageType, ""), "has no content"},
		{"another type", "ui://a", content("text/html", "<html>"), `has the type "text/html"`},
		{"no base64", "ui://a", []json.RawMessage{json.RawMessage(`{"mimeType":"` + PageType + `","blob":"?"}`)}, "has no content"},
		{"too large", "ui://a", content(PageType, strings.Repeat("x", MaxPage+1)), "at most"},
	} {
		reason := AppOf(Tool{UI: c.uri}, c.contents).Unrenderable()
		if (reason == "") != (c.reason == "") || !strings.Contains(reason, c.reason) {
			t.Errorf("%s: %q", c.name, reason)
		}
	}
}

func TestToolsForApps(t *testing.T) {
	for meta, want := range map[string]bool{
		`{}`: true, `{"ui":{}}`: true, `{"ui":{"visibility":["app"]}}`: true, `{"ui":{"visibility":["model","app"]}}`: true,
		`{"ui":{"visibility":["model"]}}`: false, `{"ui":{"visibility":[]}}`: false, `{"ui":{"visibility":"app"}}`: false,
	} {
		if got := ForApps(json.RawMessage(meta)); got != want {
			t.Errorf("%s: %v", meta, got)
		}
	}
}
