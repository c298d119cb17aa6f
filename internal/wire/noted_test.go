package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
)

// noteds are messages where something may be noted, or must not be.
func noteds() []string {
	many := strings.Repeat(`"a":1,`, jsonraw.MaxIndexed+1) + `"tools":[{}]`
	return []string{
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}, 2 ],"nextCursor":"x","tools":[3]}}`,
		` {"result" : { } , "id":1,"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","method":"a","params":{"progressToken":7,"list":[],"\u0061":[ ]}}`,
		`{"jsonrpc":"2.0","method":"a","params":[1]}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":[1]},"result":{"b":[2]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":[1]},"params":{"b":[2]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"tools":["\ud800"],"\ud800":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{` + many + `}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[0` + strings.Repeat(",1", jsonraw.MaxIndexed) + `]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[1}`, `{"result":{"a"`, `{"result":{]}`, `{"params":{"a":[1,]}}`, ``, `7`,
	}
}

// The positions that were noted during parsing equal the positions of a second parse.
func TestNotedPositionsMatchSecondParse(t *testing.T) {
	for _, text := range noteds() {
		checkNoted(t, []byte(text))
	}
}

func FuzzNoted(f *testing.F) {
	for _, text := range noteds() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkNoted(t, raw) })
}

func checkNoted(t *testing.T, raw []byte) {
	m := ParseMessage(raw)
	params, err := m.ParamMembers()
	wantParams, wantErr := jsonraw.Object(m.Params)
	sameMembers(t, raw, params, wantParams, err, wantErr)
	result, err := m.ResultMembers()
	wantResult, wantErr := jsonraw.Object(m.Result)
	sameMembers(t, raw, result, wantResult, err, wantErr)
	for _, one := range wantResult {
		first, _ := wantResult.Get(one.Name)
		items, err := m.ResultItems(one.Name)
		want, wantErr := jsonraw.Array(first)
		if fmt.Sprintf("%q %v", items, err) != fmt.Sprintf("%q %v", want, wantErr) {
			t.Errorf("%s\nitems of %q: %q %v, want %q %v", jsonraw.Excerpt(raw, 200), one.Name, items, err, want, wantErr)
		}
	}
}

func sameMembers(t *testing.T, raw []byte, got, want jsonraw.Members, err, wantErr *jsonraw.SyntaxError) {
	t.Helper()
	if (err == nil) != (wantErr == nil) || err == nil && len(got) != len(want) {
		t.Fatalf("%s\n%v %v, want %v %v", jsonraw.Excerpt(raw, 200), got, err, want, wantErr)
	}
	for i := range want {
		if err == nil && (got[i].Name != want[i].Name || !bytes.Equal(got[i].Value, want[i].Value)) {
			t.Errorf("%s\nmember %d: %q %s, want %q %s", jsonraw.Excerpt(raw, 200), i, got[i].Name, got[i].Value, want[i].Name, want[i].Value)
		}
	}
}
