package trace

import (
	"fmt"
	"testing"

	"mcpc/internal/redact"
)

// What was hidden is found by its hash, in heads and in messages, and nothing else is
// taken for it. A session has the hash of its id.
func TestFilterFindsWhatWasHidden(t *testing.T) {
	session, token := redact.Redacted("session-of-somebody"), redact.Redacted("a-token-of-somebody")
	hash := func(shown string) string { return hashesIn(shown)[0] }
	capture, err := Open(written(t,
		`>1 post Mcp-Session-Id: `+session, `>1 {"jsonrpc":"2.0","id":1,"method":"a","params":{"digest":"sha256:`+hash(token)+`"}}`,
		`<1 {"jsonrpc":"2.0","id":1,"result":{}}`,
		`>2 post Mcp-Session-Id: `+session, `>2 {"jsonrpc":"2.0","id":2,"method":"b","params":{"token":"`+token+`"}}`, `<2 {"jsonrpc":"2.0","id":2,"result":{}}`,
		`>0 {"jsonrpc":"2.0","id":3,"method":"c"}`, `<0 {"jsonrpc":"2.0","id":3,"result":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer capture.Close()
	for text, want := range map[string]string{
		"secret:*": "[a b]", "secret:" + hash(token): "[b]", "secret:0000": "[]", "-secret:*": "[c]",
		"session:" + hash(session): "[a b c]", "session:*": "[a b c]", "session:0000": "[]",
	} {
		f := parse(t, text)
		got := []string{}
		for _, row := range capture.Rows() {
			if fits, err := f.Match(row); err != nil {
				t.Fatal(err)
			} else if fits {
				got = append(got, row.Method)
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %v, want %s", text, got, want)
		}
	}
}
