package wire

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// plains are messages of which plainEnvelope says yes.
func plains() []string {
	return []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1,"total":100000}}`,
		` { "jsonrpc" : "2.0" , "id" : "a" , "method" : "tools/call" , "params" : { "name" : "x" , "arguments" : { "a" : [ 1 , { } ] } } } `,
		"{\"jsonrpc\":\"2.0\",\r\n\t\"id\":7,\"result\":{\"content\":[],\"isError\":false,\"a\":null,\"b\":[[],[{}],-0.5e+10,0,1E3]}}\n",
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":[true]}}`,
		`{"result":{"a":1},"params":{"a":2}}`, `{"params":{"a":[1]},"params":{"b":2}}`, `{"params":[1,2],"id":1}`, `{}`,
		`{"jsonrpc":"2.0","method":"a","params":{"a":1,"a":[2],"a":[3]}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":[` + strings.Repeat(`{"a":1},`, 2*maxNoted) + `0],"b":1}}`,
		`{"jsonrpc":"2.0","id":1,"result":{` + strings.Repeat(`"a":1,`, 2*maxNoted) + `"b":1}}`,
		`{"a":"ä\"\\\/\b\f\n\r\t中","ö":1}`, `{"a":"\u0041\uD83D\uDE00\ufffd"}`, "{\"a\":\"\x7f\"}",
	}
}

// strange are those of which it says no: some of them are right.
func strange() []string {
	return []string{
		``, ` `, `7`, `[]`, `{`, `}`, `{}{}`, `{} x`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{"a" 1}`, `{a:1}`, `{'a':1}`,
		`{"a":01}`, `{"a":-}`, `{"a":+1}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":1e+}`, `{"a":tru}`, `{"a":truer}`, `{"a":nul}`, `{"a":NaN}`,
		`{"params":{"a":[1,]}}`, `{"params":{"a":[,1]}}`, `{"params":{"a":[1}}`, `{"params":{"a":1}`, `{"a":[}`, `{"a":"x}`, "{\"a\":\"\n\"}",
		`{"a":"\u00g1"}`, `{"a":"\ud83d"}`, `{"a":"\ud83d\u0041"}`, `{"a":"\u004`, `{"\u0061":1}`, `{"\n":1}`, `{"a":"\x"}`, `{"a":"\`, `{"a":"ä\`, "{\"a\":\"\xff\"}", "{\"\xff\":1}", "{\"a\":1}\v", "\xEF\xBB\xBF{}",
		`{"a":` + strings.Repeat("[", plainDepth) + strings.Repeat("]", plainDepth) + `}`,
	}
}

func TestPlain(t *testing.T) {
	for _, text := range plains() {
		if !checkPlain(t, []byte(text)) {
			t.Errorf("%s is plain", text)
		}
	}
	for _, text := range strange() {
		if checkPlain(t, []byte(text)) {
			t.Errorf("%s is not plain", text)
		}
	}
}

// Whatever is called plain, the tokenizer reads just the same.
func FuzzPlain(f *testing.F) {
	seeds(f, func(raw []byte) { f.Add(raw) })
	for _, text := range append(plains(), strange()...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkPlain(t, raw) })
}

func checkPlain(t *testing.T, raw []byte) bool {
	t.Helper()
	if err := anyValid(raw); plainValue(raw) && err != nil {
		t.Errorf("%s\nis a plain value; the tokenizer says %v", Excerpt(raw, 200), err)
	}
	checkPlainParts(t, raw)
	checkNoted(t, raw)
	var got noted
	members, ok := plainEnvelope(raw, &got, nil)
	if !ok {
		if got.known || got.members != nil {
			t.Errorf("%s\nis not plain, and yet something was noted: %v", Excerpt(raw, 200), got)
		}
		return false
	}
	var wantMembers Members
	unpaired, err := anyMembers(raw, func(i int, name string, from, to int) bool {
		wantMembers = append(wantMembers[:i], Member{Name: name, Value: raw[from:to:to]})
		return true
	})
	if err != nil || unpaired {
		t.Fatalf("%s\nis plain; the tokenizer says %v, unpaired %v", Excerpt(raw, 200), err, unpaired)
	}
	sameMembers(t, raw, members, wantMembers, nil, nil)
	if got.single && duplicateIn(raw) != "" {
		t.Errorf("%s\na member stands twice", Excerpt(raw, 200))
	}
	return true
}

// checkPlainParts compares what plainMembers and plainItems give, also where only
// some of it is asked for.
func checkPlainParts(t *testing.T, raw []byte) {
	t.Helper()
	for most := range 3 {
		seen := ""
		see := func(i int, name string, from, to int) bool {
			if i == 0 {
				seen = ""
			}
			seen += fmt.Sprintf("%q %d..%d ", name, from, to)
			return i < most
		}
		if plainMembers(raw, see) {
			got := seen
			if unpaired, err := anyMembers(raw, see); err != nil || unpaired || seen != got {
				t.Errorf("%s\nmembers %s, want %s, %v, unpaired %v", Excerpt(raw, 200), got, seen, err, unpaired)
			}
		}
		if items, ok := plainItems(raw, most); ok {
			if want, err := anyItems(raw, most); err != nil || !reflect.DeepEqual(items, want) {
				t.Errorf("%s\nitems %q, want %q, %v", Excerpt(raw, 200), items, want, err)
			}
		}
	}
}
