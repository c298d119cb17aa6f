package traffic

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"mcpc/internal/wire"
)

// No text can end the block of a report that holds it.
func TestHostileTextStaysInMarkdownBlock(t *testing.T) {
	evil := "````\n# out\n```js\n<b>`a``b`` \x1b[2J\u202e"
	frame := func(dir wire.Direction, raw string, after time.Duration) wire.Frame {
		return wire.Frame{Dir: dir, Raw: []byte(raw), Time: time.Unix(0, 0).Add(after), Hidden: 1}
	}
	quoted, _ := json.Marshal(evil)
	x := &wire.Exchange{
		Request:       frame(wire.Sent, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":`+string(quoted)+`}}`, 0),
		OtherMessages: []wire.Frame{frame(wire.Received, evil, time.Second)}, Response: frame(wire.Received, evil, 2*time.Second),
		NonMessages: []wire.Frame{{Dir: wire.Received, Kind: wire.Stderr, Raw: []byte(evil)}},
	}
	var b bytes.Buffer
	err := WriteIssueReport(&b, IssueReport{View: View{
		Title: evil, Facts: [][]string{{"server", evil}}, Exchange: x,
		Findings: []wire.Finding{{Rule: "r", Text: evil}},
	}, Reproduce: evil})
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u202e") {
		t.Errorf("it acts on a terminal: %q", b.String())
	}
	fence := ""
	for _, line := range strings.Split(b.String(), "\n") {
		mark := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(mark) >= 3 && !strings.Contains(line[len(mark):], "`"):
			fence = mark
		case fence != "" && len(mark) >= len(fence) && line == mark:
			fence = ""
		case fence == "" && (strings.HasPrefix(line, "# out") || strings.HasPrefix(line, "<b>")):
			t.Errorf("%q stands outside of a block:\n%s", line, b.String())
		}
	}
	if fence != "" {
		t.Errorf("a block is not closed:\n%s", b.String())
	}
	for _, want := range []string{"\n### Request, ", "\n### Events\n", "\n### Response, ", "1 secret hidden", "\n### Events\n", "\n### Timing\n", "\n### Findings\n", "\n### Reproduce\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing:\n%s", want, b.String())
		}
	}
}
