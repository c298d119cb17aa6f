package rows

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rows of a recording that is copied as a whole end as they did.
func TestCopiedRowsHaveSameOutcomes(t *testing.T) {
	ends := func(c *Capture) (all []string) {
		for _, r := range c.Rows() {
			all = append(all, fmt.Sprint(r.Method, " ", r.Name, " ", r.Channel, " ", r.Exit))
		}
		return all
	}
	crash := []byte(`{"mcpc-traffic":1,"by":"tap"}
{"seq":1,"dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"boom\"}}"}
{"seq":2,"dir":"received","kind":"closed","close":{"by":"received","how":"exit","text":"exit status 3"}}
{"end":{"exit":3}}
`)
	all := samples(t)
	all["crash.jsonl"] = crash
	for name, raw := range all {
		if !strings.HasSuffix(name, ".jsonl") {
			continue // a damaged one
		}
		path := filepath.Join(t.TempDir(), "capture")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := c.Copy(&b, c.Rows()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := ends(c)
		c.Close()
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err = Open(path); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, ends(c)); diff != "" {
			t.Errorf("%s (-recorded +copied):\n%s", name, diff)
		}
		c.Close()
	}
}

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
		if row.IsMain {
			expected += lines[4] + "\n"
		}
		if b.String() != expected {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", row.Method, b.String(), expected)
		}
	}
}
