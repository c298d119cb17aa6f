package render

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/spool"
)

// A long text is written as a short one would be.
func TestLongText(t *testing.T) {
	for _, line := range []string{"so it goes, \"é\" \\ 😀\t<\x01>\n", "no line end"} {
		text := strings.Repeat(line, spool.Memory/len(line)+10)
		ended := text
		if !strings.HasSuffix(text, "\n") {
			ended += "\n"
		}
		for method, c := range map[string]struct{ result, want string }{
			"tools/call":     {`{"content":[{"type":"text","text":%s},{"type":"text","text":"b"}]}`, ended + "b\n"},
			"resources/read": {`{"contents":[{"uri":"a:b","text":%s}]}`, text},
			"prompts/get":    {`{"messages":[{"role":"user","content":{"type":"text","text":%s}}]}`, "user:\n" + ended},
		} {
			raw := fmt.Appendf(nil, c.result, jsonraw.Quote(text))
			var b bytes.Buffer
			if err := Result(&b, term.Style{}, method, raw); err != nil || b.String() != c.want {
				t.Errorf("%s: %d bytes and %v, want %d", method, b.Len(), err, len(c.want))
			}
			b.Reset()
			if err := Result(failing{&b, 1 << 20}, term.Style{}, method, raw); err == nil || b.Len() > 2<<20 {
				t.Errorf("%s: %v behind %d bytes, want that of the writer", method, err, b.Len())
			}
		}
		raw := fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, jsonraw.Quote(text))
		if data, what, err := saved("tools/call", raw); err != nil || data != text || what != "text, "+term.Size(len(text)) {
			t.Errorf("saved: %d bytes and %v, want %d", len(data), err, len(text))
		}
		raw = fmt.Appendf(nil, `{"content":[{"type":"text","text":%s},{"type":"text","text":"b"},{"type":"text","text":" "}]}`, jsonraw.Quote(text))
		if data, _, err := saved("tools/call", raw); err != nil || data != ended+"b\n" {
			t.Errorf("saved with another: %d bytes and %v, want %d", len(data), err, len(ended)+2)
		}
		if write, err := Payload("tools/call", raw); err != nil {
			t.Error(err)
		} else if _, err := write(failing{new(bytes.Buffer), 1 << 20}); err == nil {
			t.Error("a full disk is not noticed")
		}
		if !ContentRepeats(fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, jsonraw.Quote(`["`+strings.Repeat("x", spool.Memory)+`"]`)),
			[]byte(`["`+strings.Repeat("x", spool.Memory)+`"]`)) {
			t.Error("a long text that repeats structuredContent is not noticed")
		}
	}
}

// failing is a writer that accepts a number of bytes, then fails.
type failing struct {
	to   *bytes.Buffer
	most int
}

func (f failing) Write(p []byte) (int, error) {
	if f.to.Len() >= f.most {
		return 0, fmt.Errorf("full")
	}
	return f.to.Write(p)
}
