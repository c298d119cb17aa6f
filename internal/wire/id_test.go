package wire

import (
	"encoding/json"
	"testing"
)

func TestOtherID(t *testing.T) {
	for _, c := range []struct{ id, want, key string }{
		{`2`, `"2"`, `"2"`},
		{`20`, `"20"`, `"20"`},
		{`0`, `"0"`, `"0"`},
		{`-5`, `"-5"`, `"-5"`},
		{`"2"`, `2`, idKey(json.RawMessage(`2`))},
		{`"20"`, `20`, idKey(json.RawMessage(`20`))},
		{`"a"`, ``, ``},
		{`"2a"`, ``, ``},
		{`""`, ``, ``},
		{`null`, ``, ``},
		{`{}`, ``, ``},
		{``, ``, ``},
	} {
		if got := string(OtherID(json.RawMessage(c.id))); got != c.want {
			t.Errorf("OtherID(%s) is %s, want %s", c.id, got, c.want)
		}
		if got := keyOfOtherType(idKey(json.RawMessage(c.id))); got != c.key {
			t.Errorf("otherKey of %s is %s, want %s", c.id, got, c.key)
		}
	}
}

// Null beside a result or an error is absent, and reported.
func TestNullBesideResult(t *testing.T) {
	for _, c := range []struct {
		raw  string
		kind MessageKind
	}{
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, Response},
		{`{"jsonrpc":"2.0","id":1,"result":null,"error":null}`, Response},
		{`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"m"}}`, ErrorResponse},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, Invalid},
		{`{"jsonrpc":"2.0","id":1,"error":null}`, Invalid},
	} {
		m := ParseMessage([]byte(c.raw))
		if m.Kind != c.kind {
			t.Errorf("%s is a %v, want %v", c.raw, m.Kind, c.kind)
		}
		if c.kind != Invalid && (len(m.Problems) != 1 || m.Problems[0].Rule != "shape" || m.Problems[0].Severity != Warning) {
			t.Errorf("%s: problems %v", c.raw, m.Problems)
		}
		if c.kind == ErrorResponse && (m.Result != nil || m.Error.Code != 1) {
			t.Errorf("%s: result %s, error %+v", c.raw, m.Result, m.Error)
		}
	}
}
