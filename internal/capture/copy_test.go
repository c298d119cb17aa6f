package capture

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Copy gives lines back unchanged, unknown members included.
func TestCopyKeepsLines(t *testing.T) {
	text := `{"mcpc-traffic":1,"mcpc":"1","new":"x"}
{"seq":1,"dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}","new":1}
{"seq":2,"dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}"}
{"seq":3,"dir":"received","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}
{"end":{"exit":0,"method":"b"}}
{"mcpc-traffic":1,"mcpc":"2"}
{"seq":1,"dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"c\"}"}`
	name := filepath.Join(t.TempDir(), "capture")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lines := strings.Split(text, "\n")
	for _, want := range [][]int{{0, 1, 3}, {0, 2}, {5, 6}} {
		row := c.Rows()[[]int{0: 0, 1: 0, 2: 1, 6: 2}[want[1]]]
		var b bytes.Buffer
		if err := c.Copy(&b, []*Row{row}); err != nil {
			t.Fatal(err)
		}
		expected := ""
		for _, i := range want {
			expected += lines[i] + "\n"
		}
		if row.Own {
			expected += lines[4] + "\n"
		}
		if b.String() != expected {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", row.Method, b.String(), expected)
		}
	}
}
