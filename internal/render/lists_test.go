package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"mcpc/internal/mcp"
	"mcpc/internal/render/term"
	"mcpc/internal/tests/rendertest"
	"mcpc/internal/wire"
)

// The other lists of servers, and lists that no server should have.
var (
	somePrompts = parsed(mcp.ParsePrompt,
		`{"name":"args-prompt","title":"Arguments Prompt","description":"A prompt with two arguments\nand a second line","arguments":[{"name":"city","required":true},{"name":"state"}]}`,
		`{"name":"simple","title":"Simple Prompt"}`,
		`{"name":"evil\u001b[31m","description":"hid\u200bden","arguments":[{"name":"a\nb"}]}`)
	someResources = parsed(mcp.ParseResource,
		`{"uri":"demo://resource/static/document/features.md","name":"features.md","description":"Static document: features.md","mimeType":"text/markdown","size":620}`,
		`{"uri":"file:///bare"}`,
		`{"uri":"demo://\u202egnp","name":"logo","title":"The logo","mimeType":"image/png\u0007"}`)
	someTemplates = parsed(mcp.ParseTemplate,
		`{"uriTemplate":"demo://resource/dynamic/text/{resourceId}","name":"Dynamic Text Resource","mimeType":"text/plain","description":"Plaintext fabricated from the variable, which must be an integer, and from nothing else"}`)
)

func parsed[T any](parse func(json.RawMessage) (T, *wire.Finding), raws ...string) (all []T) {
	for _, raw := range raws {
		one, bad := parse(json.RawMessage(raw))
		if bad != nil {
			panic(bad.Text)
		}
		all = append(all, one)
	}
	return all
}

func TestLists(t *testing.T) {
	sections := func(st term.Style, long bool) []Section {
		return []Section{
			{"prompts", "prompt", func(w io.Writer) error { return Prompts(w, st, somePrompts, long) }},
			{"tools", "tool", func(w io.Writer) error { return Tools(w, st, nil, nil, long) }},
			{"resources", "resource", func(w io.Writer) error { return Resources(w, st, someResources, long) }},
			{"templates", "template", func(w io.Writer) error { return Resources(w, st, someTemplates, long) }},
		}
	}
	var b bytes.Buffer
	for _, c := range []struct {
		name string
		st   term.Style
		long bool
	}{
		{"pipe", term.Style{Width: 80}, false},
		{"60", term.Style{Terminal: true, Width: 60}, false},
		{"160", term.Style{Terminal: true, Width: 160}, false},
		{"long", term.Style{Terminal: true, Width: 60}, true},
		{"color", term.Style{Color: true, Width: 60}, false},
	} {
		fmt.Fprintf(&b, "=== %s\n", c.name)
		if err := Sections(&b, c.st, sections(c.st, c.long)); err != nil {
			t.Fatal(err)
		}
	}
	rendertest.Golden(t, "lists.txt", b.Bytes())
}
