package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/jsonraw"
)

// view is what a person would write down of a message.
func view(m *Message) string {
	var b strings.Builder
	b.WriteString(m.Kind.String())
	part := func(name string, raw []byte) {
		if raw != nil {
			fmt.Fprintf(&b, " %s=%s", name, jsonraw.Excerpt(raw, 200))
		}
	}
	part("id", m.ID)
	if m.Method != "" {
		part("method", []byte(m.Method))
	}
	part("params", m.Params)
	part("result", m.Result)
	if e := m.Error; e != nil {
		fmt.Fprintf(&b, " error=%d:%q", e.Code, e.Message)
		part("data", e.Data)
	}
	for _, p := range m.Problems {
		fmt.Fprintf(&b, " [%s %s]", p.Severity, p.Rule)
	}
	for _, item := range m.Items {
		b.WriteString("\n  " + view(item))
	}
	return b.String()
}

func TestRealMessages(t *testing.T) {
	var b strings.Builder
	for _, s := range files(t, "testdata/messages") {
		m := ParseMessage(s.raw)
		fmt.Fprintf(&b, "# %s\n%s\n", s.name, view(m))
		for _, p := range m.Problems {
			fmt.Fprintf(&b, "  %s: %s\n", p.Severity, p.Text)
		}
	}
	golden(t, "messages.txt", b.String())
}

func TestParseMessage(t *testing.T) {
	const v = `"jsonrpc":"2.0",`
	for _, c := range []struct{ name, raw, want string }{
		{"request", `{` + v + `"id":1,"method":"a"}`, `request id=1 method=a`},
		{"request with params", `{` + v + `"id":1,"method":"a","params":{ "x" : [] }}`, `request id=1 method=a params={ "x" : [] }`},
		{"positional params", `{` + v + `"id":1,"method":"a","params":[1]}`, `request id=1 method=a params=[1]`},
		{"null params", `{` + v + `"id":1,"method":"a","params":null}`, `request id=1 method=a params=null [warning params]`},
		{"notification", `{` + v + `"method":"a"}`, `notification method=a`},
		{"empty method", `{` + v + `"method":""}`, `notification`},
		{"escaped method", `{` + v + `"id":1,"method":"a\/\u0062"}`, `request id=1 method=a/b`},
		{"response", `{"result":{},` + v + `"id":1}`, `response id=1 result={}`},
		{"null result", `{` + v + `"id":1,"result":null}`, `response id=1 result=null`},
		{"response without id", `{` + v + `"result":1}`, `response result=1 [warning id]`},
		{"error", `{` + v + `"id":1,"error":{"code":0,"message":""}}`, `error id=1 error=0:""`},
		{"error with data", `{` + v + `"id":1,"error":{"code":-32602,"message":"no","data":null}}`, `error id=1 error=-32602:"no" data=null`},
		{"error without id", `{` + v + `"error":{"code":1,"message":"no"}}`, `error error=1:"no"`},
		{"error with null id", `{` + v + `"id":null,"error":{"code":1,"message":"no"}}`, `error id=null error=1:"no" [warning id]`},
		{"string id", `{` + v + `"id":"7","result":1}`, `response id="7" result=1`},
		{"big id", `{` + v + `"id":9007199254740993,"result":1}`, `response id=9007199254740993 result=1`},
		{"float id", `{` + v + `"id":7.0,"result":1}`, `response id=7.0 result=1 [warning id]`},
		{"exponent id", `{` + v + `"id":7e0,"result":1}`, `response id=7e0 result=1 [warning id]`},
		{"null id", `{` + v + `"id":null,"method":"a"}`, `request id=null method=a [warning id]`},
		{"object id", `{` + v + `"id":{},"method":"a"}`, `request id={} method=a [warning id]`},
		{"boolean id", `{` + v + `"id":true,"method":"a"}`, `request id=true method=a [warning id]`},
		{"unknown members", `{` + v + `"method":"a","Method":"b","x":{"x":1,"x":2}}`, `notification method=a`},
		{"white space", " \t\r\n{" + v + "\n\"id\" : 1 ,\"method\":\"a\"}\n ", `request id=1 method=a`},
		{"byte order mark", "\xEF\xBB\xBF{" + v + `"id":1,"method":"a"}`, `request id=1 method=a [warning bom]`},
		{"half a surrogate pair", `{` + v + `"id":1,"result":"\ud800"}`, `response id=1 result="\ud800" [warning surrogate]`},
		{"escaped NUL", `{` + v + `"id":1,"result":"\u0000"}`, `response id=1 result="\u0000"`},
		{"odd numbers", `{` + v + `"id":1,"result":[1e400,-0,1.10,9007199254740993]}`, `response id=1 result=[1e400,-0,1.10,9007199254740993]`},

		{"no jsonrpc", `{"id":1,"method":"a"}`, `invalid id=1 [error jsonrpc]`},
		{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":1,"method":"a"}`, `invalid id=1 [error jsonrpc]`},
		{"jsonrpc as a number", `{"jsonrpc":2.0,"id":1,"method":"a"}`, `invalid id=1 [error jsonrpc]`},
		{"jsonrpc null", `{"jsonrpc":null,"id":1,"method":"a"}`, `invalid id=1 [error jsonrpc]`},
		{"jsonrpc escaped", `{"jsonrpc":"\u0032.0","id":1,"method":"a"}`, `request id=1 method=a`},
		{"jsonrpc in capitals", `{"JSONRPC":"2.0","id":1,"method":"a"}`, `invalid id=1 [error jsonrpc]`},
		{"members in another case", `{` + v + `"ID":1,"Result":{}}`, `invalid [error shape]`},
		{"look-alikes", `{` + v + `"id":1,"re\u017fult":{}}`, `invalid id=1 [error shape]`},
		{"duplicate id", `{` + v + `"id":1,"id":2,"result":{}}`, `invalid id=1 result={} [error duplicate_member]`},
		{"duplicate escaped", `{` + v + `"method":"a","\u006dethod":"b"}`, `invalid [error duplicate_member]`},
		{"duplicate unknown", `{` + v + `"method":"a","x":1,"x":1}`, `invalid [error duplicate_member]`},
		{"result and error", `{` + v + `"id":1,"result":{},"error":{"code":1,"message":""}}`, `invalid id=1 result={} [error shape]`},
		{"result null and error", `{` + v + `"id":1,"result":null,"error":{"code":1,"message":""}}`, `error id=1 error=1:"" [warning shape]`},
		{"neither", `{` + v + `"id":1}`, `invalid id=1 [error shape]`},
		{"method and result", `{` + v + `"id":1,"method":"a","result":1}`, `invalid id=1 result=1 [error shape]`},
		{"method and error", `{` + v + `"method":"a","error":1}`, `invalid [error shape]`},
		{"method a number", `{` + v + `"id":1,"method":1}`, `invalid id=1 [error method]`},
		{"error null", `{` + v + `"id":1,"error":null}`, `invalid id=1 [error error]`},
		{"error a string", `{` + v + `"id":1,"error":"no"}`, `invalid id=1 [error error]`},
		{"code missing", `{` + v + `"id":1,"error":{"message":"no"}}`, `invalid id=1 error=0:"no" [error error_code]`},
		{"code a string", `{` + v + `"id":1,"error":{"code":"1","message":"no"}}`, `invalid id=1 error=0:"no" [error error_code]`},
		{"code a float", `{` + v + `"id":1,"error":{"code":1.5,"message":"no"}}`, `invalid id=1 error=0:"no" [error error_code]`},
		{"message missing", `{` + v + `"id":1,"error":{"code":1,"data":[]}}`, `invalid id=1 error=1:"" data=[] [error error_message]`},
		{"error in capitals", `{` + v + `"id":1,"error":{"Code":1,"Message":"no"}}`, `invalid id=1 error=0:"" [error error_code] [error error_message]`},

		{"nothing", ``, `invalid [error syntax]`},
		{"white space alone", " \n", `invalid [error syntax]`},
		{"byte order mark alone", "\xEF\xBB\xBF", `invalid [warning bom] [error syntax]`},
		{"two byte order marks", "\xEF\xBB\xBF\xEF\xBB\xBF{}", `invalid [warning bom] [error syntax]`},
		{"null", `null`, `invalid [error not_object]`},
		{"a string", ` "x"`, `invalid [error not_object]`},
		{"a number", `7`, `invalid [error not_object]`},
		{"an empty object", `{}`, `invalid [error jsonrpc]`},
		{"plain text", `not found`, `invalid [error syntax]`},
		{"plain text from a digit", `404 page not found`, `invalid [error trailing]`},
		{"a page", `<html>`, `invalid [error syntax]`},
		{"truncated", `{` + v + `"id":1,"result":{"content":[`, `invalid [error syntax]`},
		{"truncated string", `"abc`, `invalid [error syntax]`},
		{"trailing bytes", `{` + v + `"method":"a"}x`, `invalid [error trailing]`},
		{"two documents", `{` + v + `"method":"a"}{` + v + `"method":"a"}`, `invalid [error trailing]`},
		{"trailing comma", `{` + v + `"method":"a",}`, `invalid [error syntax]`},
		{"a comment", `{` + v + `"method":"a"/**/}`, `invalid [error syntax]`},
		{"single quotes", `{'jsonrpc':'2.0'}`, `invalid [error syntax]`},
		{"NaN", `{` + v + `"id":1,"result":NaN}`, `invalid [error syntax]`},
		{"leading zero", `{` + v + `"id":07,"result":1}`, `invalid [error syntax]`},
		{"NUL", "{" + v + "\x00\"method\":\"a\"}", `invalid [error syntax]`},
		{"NUL in a string", "{" + v + "\"method\":\"a\x00\"}", `invalid [error syntax]`},
		{"NUL behind", "{" + v + "\"method\":\"a\"}\x00", `invalid [error trailing]`},
		{"raw newline in a string", "{" + v + "\"method\":\"a\nb\"}", `invalid [error syntax]`},
		{"no UTF-8", "{" + v + "\"method\":\"\xff\"}", `invalid [error utf8]`},
		{"overlong", "{" + v + "\"method\":\"\xc0\xaf\"}", `invalid [error utf8]`},
		{"CESU surrogates", "{" + v + "\"method\":\"\xed\xa0\xbd\xed\xb8\x80\"}", `invalid [error utf8]`},
		{"no-break space between", "{" + v + "\u00a0\"method\":\"a\"}", `invalid [error syntax]`},
		{
			"deep", `{` + v + `"id":1,"result":` + strings.Repeat("[", jsonraw.MaxDepth-1) + strings.Repeat("]", jsonraw.MaxDepth-1) + `}`,
			`response id=1 result=` + strings.Repeat("[", 200) + fmt.Sprintf("… +%d bytes", 2*jsonraw.MaxDepth-202),
		},
		{"too deep", `{` + v + `"id":1,"result":` + strings.Repeat("[", jsonraw.MaxDepth) + strings.Repeat("]", jsonraw.MaxDepth) + `}`, `invalid [error depth]`},
		{"too deep and broken", strings.Repeat("[", 100_000), `invalid [error depth]`},

		{"batch", `[{` + v + `"method":"a"},{` + v + `"id":1,"result":1}]`, "batch\n  notification method=a\n  response id=1 result=1"},
		{
			"batch of anything", ` [1,{},[ ],{` + v + `"id":1,"id":1}] `,
			"batch\n  invalid [error not_object]\n  invalid [error jsonrpc]\n  invalid [error nested_batch]\n  invalid id=1 [error duplicate_member]",
		},
		{"batch with mark", "\xEF\xBB\xBF[{" + v + `"method":"a"}]`, "batch [warning bom]\n  notification method=a"},
		{"empty batch", `[ ]`, `invalid [error empty_batch]`},
		{"broken batch", `[{` + v + `"method":"a"},]`, `invalid [error syntax]`},
		{"batch and more", `[{` + v + `"method":"a"}]]`, `invalid [error trailing]`},
		{"batches in batches", strings.Repeat("[", jsonraw.MaxDepth) + strings.Repeat("]", jsonraw.MaxDepth), "batch\n  invalid [error nested_batch]"},
		{"batch of too many", `[1` + strings.Repeat(",1", jsonraw.MaxParts) + `]`, `invalid [error too_many]`},
		{"too many members", `{"":1` + strings.Repeat(`,"":1`, jsonraw.MaxParts) + `}`, `invalid [error too_many]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := []byte(c.raw)
			m := ParseMessage(raw)
			if diff := cmp.Diff(c.want, view(m)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			assertSound(t, raw, m)
			if !bytes.Equal(raw, []byte(c.raw)) {
				t.Error("the bytes were changed")
			}
		})
	}
}

// A problem has its place in the received bytes.
func TestProblemNamesItsPlace(t *testing.T) {
	for raw, want := range map[string]string{
		"":                             "empty instead of a JSON-RPC message",
		"\xEF\xBB\xBF ":                "empty instead of a JSON-RPC message",
		`true`:                         "JSON, but not a JSON-RPC message",
		`true story`:                   "more bytes follow the JSON value at byte 5",
		`tru`:                          "the JSON ends too early at byte 3",
		`[]`:                           "an empty array, but not a JSON-RPC message",
		"{}  \n x":                     "more bytes follow the JSON value at byte 6",
		`{"a":1,}`:                     "invalid JSON at byte 6",
		"\xEF\xBB\xBF{\"a\":1,}":       "invalid JSON at byte 9",
		"\xEF\xBB\xBF{\"a\":\"\xff\"}": "not UTF-8 at byte 9",
		`{"a":`:                        "the JSON ends too early at byte 5",
		`{"jsonrpc":"1.0","id":1}`:     `not a JSON-RPC 2.0 message: "jsonrpc" is "1.0"`,
		`{"id":1}`:                     `not a JSON-RPC 2.0 message: "jsonrpc" is missing`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1.0,"message":""}}`:                   `the error's "code" is not an integer: 1.0`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-99999999999999999999,"message":""}}`: `the error's "code" is too large for an integer: -99999999999999999999`,
		`{"jsonrpc":"2.0","id":1,"method":"a"}`:                                        "",
		`{"jsonrpc":"2.0","id":null,"method":"a"}`:                                     "",
	} {
		if got := ParseMessage([]byte(raw)).Problem(); got != want {
			t.Errorf("%q\n got %s\nwant %s", raw, got, want)
		}
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		id, theirs string
		want       bool
	}{
		{`7`, `7`, true},
		{`7`, `8`, false},
		{`7`, `"7"`, false},
		{`"7"`, `7`, false},
		{`7`, `70`, false},
		{`7`, `-7`, false},
		{`7`, `7.0`, true},
		{`7.0`, `7`, true},
		{`7`, `7.000000`, true},
		{`7`, `7e0`, true},
		{`7`, `0.7E+1`, true},
		{`7`, `70e-1`, true},
		{`7`, `7.5`, false},
		{`7`, `7.0000000000000000001`, false},
		{`10`, `1e1`, true},
		{`100`, `10.0`, false},
		{`10`, `1`, false},
		{`0`, `-0`, true},
		{`0`, `0.0e9`, true},
		{`0`, `null`, false},
		{`9007199254740993`, `9007199254740993.0`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`7`, `7e99999999999999999999`, false},
		{`7e99999999999999999999`, `7e99999999999999999999`, true},
		{`"a"`, `"a"`, true},
		{`"a"`, `"\u0061"`, true},
		{`"a"`, `"A"`, false},
		{`"a"`, `"a "`, false},
		{`""`, `""`, true},
		{`null`, `null`, true},
		{`null`, `"null"`, false},
		{`true`, `true`, true},
		{`true`, `"true"`, false},
		{` 7`, `7`, false},
	} {
		for _, body := range []string{`"result":{}`, `"error":{"code":1,"message":""}`} {
			m := ParseMessage([]byte(`{"jsonrpc":"2.0","id":` + c.theirs + `,` + body + `}`))
			if got := m.IsResponseTo(json.RawMessage(c.id)); got != c.want {
				t.Errorf("%s answers %s: %v", c.theirs, c.id, got)
			}
		}
	}
}

func TestAnswersOfOtherShapes(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":7,"method":"a"}`:                                       false,
		`{"jsonrpc":"2.0","id":7,"method":"a","result":1}`:                            false,
		`{"jsonrpc":"2.0","id":7}`:                                                    false,
		`[{"jsonrpc":"2.0","id":7,"result":1}]`:                                       false,
		`{"jsonrpc":"2.0","id":7,"result":1`:                                          false,
		`{"jsonrpc":"2.0","result":1}`:                                                false,
		`{"id":7,"result":1}`:                                                         true,
		`{"jsonrpc":"2.0","id":7,"error":"no"}`:                                       true,
		`{"jsonrpc":"2.0","id":7,"id":8,"result":1}`:                                  true,
		`{"jsonrpc":"2.0","id":7,"result":1,"error":{"code":1,"message":""}}`:         true,
		`{"jsonrpc":"2.0","id":7,"error":{"code":"1","message":""},"x":{"result":1}}`: true,
	} {
		if got := ParseMessage([]byte(raw)).IsResponseTo(json.RawMessage("7")); got != want {
			t.Errorf("%s answers 7: %v", raw, got)
		}
	}
	if ParseMessage([]byte(`{"jsonrpc":"2.0","result":1}`)).IsResponseTo(nil) {
		t.Error("no id answers no id")
	}
}

func TestExcerpt(t *testing.T) {
	for _, c := range []struct {
		raw  string
		n    int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc… +1 bytes"},
		{"abc", 0, "… +3 bytes"},
		{"aé", 2, "a… +2 bytes"},
		{"a😀b", 4, "a… +5 bytes"},
		{"a😀b", 5, "a😀… +1 bytes"},
		{strings.Repeat("\x80", 9), 8, "\x80\x80\x80\x80… +5 bytes"},
	} {
		if got := jsonraw.Excerpt([]byte(c.raw), c.n); got != c.want {
			t.Errorf("Excerpt(%q, %d) = %q, want %q", c.raw, c.n, got, c.want)
		}
	}
}

// assertSound checks what holds of the view of any bytes.
func assertSound(t *testing.T, raw []byte, m *Message) {
	t.Helper()
	if !bytes.Equal(raw, m.Raw) || !within(raw, m.Raw) {
		t.Fatal("Raw is not the bytes that were given")
	}
	for name, part := range map[string][]byte{"id": m.ID, "params": m.Params, "result": m.Result} {
		assertView(t, m.Raw, name, part)
	}
	if m.Error != nil {
		assertView(t, m.Raw, "error", m.Error.Raw)
		assertView(t, m.Error.Raw, "data", m.Error.Data)
	}
	for _, item := range m.Items {
		assertView(t, m.Raw, "item", item.Raw)
		assertSound(t, item.Raw, item)
	}
	if (m.Kind == Invalid) != (m.Problem() != "") {
		t.Errorf("kind %s with the problem %q", m.Kind, m.Problem())
	}
	assertParts(t, m)
}

// assertParts checks that a kind has the parts that make it that kind.
func assertParts(t *testing.T, m *Message) {
	t.Helper()
	ok := true
	switch m.Kind {
	case Request:
		ok = m.ID != nil && m.Result == nil && m.Error == nil
	case Notification:
		ok = m.ID == nil && m.Result == nil && m.Error == nil
	case Response:
		ok = m.Result != nil && m.Error == nil && m.Method == ""
	case ErrorResponse:
		ok = m.Result == nil && m.Error != nil && m.Method == ""
	case Batch:
		ok = len(m.Items) > 0 && m.ID == nil
	}
	if !ok {
		t.Errorf("a %s has the wrong parts: %s", m.Kind, view(m))
	}
}

// assertView fails unless part is nil, or exactly one value that aliases raw and that
// cannot be appended to without a copy.
func assertView(t *testing.T, raw []byte, name string, part []byte) {
	t.Helper()
	if part == nil {
		return
	}
	if !within(raw, part) {
		t.Fatalf("%s is a copy", name)
	}
	if cap(part) != len(part) {
		t.Errorf("%s has room to write into the message", name)
	}
	if jsonraw.Valid(part) != nil || len(bytes.TrimSpace(part)) != len(part) {
		t.Errorf("%s is not exactly a value: %q", name, part)
	}
}

func within(raw, part []byte) bool {
	if len(part) == 0 {
		return true
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(raw)))
	return at <= uintptr(len(raw)) && at+uintptr(len(part)) <= uintptr(len(raw))
}

// A duplicate is found in a message of any length, by either kind of search.
func TestDuplicateInResult(t *testing.T) {
	many := ""
	for i := range 2 * jsonraw.MaxNames {
		many += fmt.Sprintf(`"n%d":{},`, i)
	}
	for raw, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"a":{"b":1,"b":2}}}`:                    "/a/b",
		`{"jsonrpc":"2.0","id":1,"result":{"a":[{"b":1},{"b":1,"c":{"c":1}}]}}`:    "",
		`{"jsonrpc":"2.0","id":1,"result":{"a":[0,{"b":"\ud800","\u0062":2}]}}`:    "/a/1/b",
		`{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800","b":{"a":1}}}`:             "",
		`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":1},"x":"` + "\xc3\xa4" + `"}`: "/a",
		`{"jsonrpc":"2.0","id":1,"x":{"a":1,"a":1},"result":{}}`:                   "",
		`{"jsonrpc":"2.0","id":1,"params":{"a":1,"a":1}}`:                          "",
		`{"jsonrpc":"2.0","id":1,"result":{` + many + `"n":{"n":1}}}`:              "",
		`{"jsonrpc":"2.0","id":1,"result":{` + many + `"n70":1}}`:                  "",
		`{"jsonrpc":"2.0","id":1,"result":{` + many + `"n60":1}}`:                  "/n60",
	} {
		for _, more := range []int{0, 2 << 10, 300 << 10} {
			m := ParseMessage([]byte(raw + strings.Repeat(" ", more)))
			expected := want
			if more > maxSearched {
				expected = ""
			}
			if got := m.DuplicateInResult(); got != expected {
				t.Errorf("%s and %d bytes: %q, want %q", raw, more, got, expected)
			}
		}
	}
}

// A reused message is parsed like a new message, and a notification without its own memory.
func TestReusedMessageIsParsedLikeNew(t *testing.T) {
	m := &Message{}
	for _, raw := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text"}]}}`, `[{"jsonrpc":"2.0","method":"a"}]`, `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`,
		`{"jsonrpc":"1.0"}`, `{`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":5}}`, `{"jsonrpc":"\u0032.0","method":"b","params":{"c":[1,2]}}`,
	} {
		if m.Parse([]byte(raw)); !reflect.DeepEqual(m, ParseMessage([]byte(raw))) {
			t.Errorf("%s: %+v", raw, m)
		}
	}
	raw := []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":5,"total":10}}`)
	if n := testing.AllocsPerRun(100, func() { m.Parse(raw) }); n > 0 {
		t.Errorf("%v allocations for a notification", n)
	}
}

func TestRPCErrorHasOwnText(t *testing.T) {
	for message, want := range map[string]bool{
		"": false, "Internal error": false, "internal server error.": false, "Internal error: no such city": true, "city not found": true,
	} {
		if got := (&RPCError{Message: message}).HasOwnText(); got != want {
			t.Errorf("%q: got %v", message, got)
		}
	}
}
