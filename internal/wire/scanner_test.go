package wire

import (
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
)

// right are messages in JSON.
func right() []string {
	return []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1,"total":100000}}`,
		` { "jsonrpc" : "2.0" , "id" : "a" , "method" : "tools/call" , "params" : { "name" : "x" , "arguments" : { "a" : [ 1 , { } ] } } } `,
		"{\"jsonrpc\":\"2.0\",\r\n\t\"id\":7,\"result\":{\"content\":[],\"isError\":false,\"a\":null,\"b\":[[],[{}],-0.5e+10,0,1E3]}}\n",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":[true]}}`,
		`{"result":{"a":1},"params":{"a":2}}`, `{"params":{"a":[1]},"params":{"b":2}}`, `{"params":[1,2],"id":1}`, `{}`,
		`{"jsonrpc":"2.0","method":"a","params":{"a":1,"a":[2],"a":[3]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":[` + strings.Repeat(`{"a":1},`, 2*jsonraw.MaxIndexed) + `0],"b":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{` + strings.Repeat(`"a":1,`, 2*jsonraw.MaxIndexed) + `"b":1}}`,
		`{"a":"ä\"\\\/\b\f\n\r\t中","ö":1}`, `{"a":"\u0041\uD83D\uDE00\ufffd"}`, "{\"a\":\"\x7f\"}",
	}
}

// strange are texts. Most are no messages, and many are not JSON.
func strange() []string {
	return []string{
		``, ` `, `7`, `[]`, `{`, `}`, `{}{}`, `{} x`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{"a" 1}`, `{a:1}`, `{'a':1}`,
		`{"a":01}`, `{"a":-}`, `{"a":+1}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":1e+}`, `{"a":tru}`, `{"a":truer}`, `{"a":nul}`, `{"a":NaN}`,
		`{"params":{"a":[1,]}}`, `{"params":{"a":[,1]}}`, `{"params":{"a":[1}}`, `{"params":{"a":1}`, `{"a":[}`, `{"a":"x}`, "{\"a\":\"\n\"}",
		`{"a":"\u00g1"}`, `{"a":"\ud83d"}`, `{"a":"\ud83d\u0041"}`, `{"a":"\u004`, `{"\u0061":1}`, `{"\n":1}`, `{"a":"\x"}`, `{"a":"\`, `{"a":"ä\`, "{\"a\":\"\xff\"}", "{\"\xff\":1}", "{\"a\":1}\v", "\xEF\xBB\xBF{}",
		`{"a":` + strings.Repeat("[", jsonraw.MaxDepth) + strings.Repeat("]", jsonraw.MaxDepth) + `}`,
	}
}

func TestScanner(t *testing.T) {
	for _, text := range right() {
		checkScanner(t, []byte(text))
		if err := jsonraw.Valid([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range strange() {
		checkScanner(t, []byte(text))
	}
}

// The scanner and encoding/json read the same values, and both reject the same texts.
func FuzzScanner(f *testing.F) {
	seeds(f, func(raw []byte) { f.Add(raw) })
	for _, text := range append(right(), strange()...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkScanner(t, raw) })
}

func checkScanner(t *testing.T, raw []byte) {
	t.Helper()
	assertLikeOthers(t, raw)
	checkNoted(t, raw)
	var in jsonraw.Index
	members, _, err := jsonraw.Envelope(raw, &in, nil)
	if err != nil && (in.IsComplete || members != nil) {
		t.Errorf("%s\nis no object, and yet something was noted: %v", jsonraw.Excerpt(raw, 200), in)
	}
	want, wantErr := jsonraw.Object(raw)
	if len(want) <= jsonraw.MaxParts {
		sameMembers(t, raw, members, want, err, wantErr)
	}
	if in.HasNoDuplicates && jsonraw.DuplicateIn(raw) != "" {
		t.Errorf("%s\na member stands twice", jsonraw.Excerpt(raw, 200))
	}
}
