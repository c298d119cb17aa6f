package redact

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"mcpc/internal/wire"
)

// headWords are what the texts of a head are made of in the test below.
var headWords = []string{"", "http://127.0.0.1:3001/mcp", "https://mcp.example.com/mcp", "http://u:p@h/", "/mcp?token=abc", "&a=b", "a=1&code=abcdef", "POST", "Accept",
	"Authorization", "Bearer abcdefghijkl0123456789", "Bearer", "Mcp-Session-Id", "0123456789abcdef0123456789abcdef", "Location", "Set-Cookie",
	"sid=12345678; Path=/", "known-value", "known%2Dvalue", `known\u002dvalue`, "6b6e6f776e2d76616c7565", "a25vd24tdmFsdWU=", "application/json, text/event-stream",
	"Content-Security-Policy", "••••(len 5, sha256:0a0b)", "\xff\xfe\xe5\x77\x89\x30\x8c\x30\x5f\x30\xd8\x79\xc6\x5b\x6e\x30\x24\x50", "\x00", ": x", "token:", "=x", "X-Token", `\`, "ghp_abcdefghij0123456789", "Fri, 27 Nov 2026 12:21:39 GMT", "über"}

// headOf makes a head of what next chooses, mostly of usual texts.
func headOf(next func(n int) int) *wire.HTTPHead {
	text := func() string {
		word := headWords[next(len(headWords))]
		if next(4) == 0 {
			word += headWords[next(len(headWords))]
		}
		return word
	}
	h := &wire.HTTPHead{Method: "POST", URL: "http://127.0.0.1:3001/mcp"}
	if next(3) == 0 {
		h.URL = text()
	}
	if next(9) == 0 {
		h.Method = text()
	}
	for range next(5) {
		h.Fields = append(h.Fields, wire.Field{Name: "X-Some", Value: text()})
		if next(2) == 0 {
			h.Fields[len(h.Fields)-1].Name = text()
		}
	}
	return h
}

// A head without its secrets is the same whether a look at all of it went before or not, and so is
// what is learnt from it.
func checkHead(t *testing.T, h *wire.HTTPHead) (plain bool) {
	t.Helper()
	var quick, slow Secrets
	tallied := [2][]FoundKind{}
	quick.Tally, slow.Tally = func(k FoundKind) { tallied[0] = append(tallied[0], k) }, func(k FoundKind) { tallied[1] = append(tallied[1], k) }
	for _, s := range []*Secrets{&quick, &slow} {
		s.Learn("known-value", "知られた秘密の値")
	}
	before := *h
	before.Fields = append([]wire.Field(nil), h.Fields...)
	for range 2 { // what was learnt counts the second time
		got, want := hideInHead(&quick, h, plainTexts(&quick, h)), hideInHead(&slow, h, 0)
		if !reflect.DeepEqual(got.Fields, want.Fields) && len(got.Fields)+len(want.Fields) > 0 || got.URL != want.URL || got.Method != want.Method {
			t.Fatalf("%+v\n is %+v,\nnot %+v", h, got, want)
		}
		plain = got == h
	}
	if !reflect.DeepEqual(before.Fields, h.Fields) && len(h.Fields) > 0 || before.URL != h.URL || before.Method != h.Method {
		t.Fatalf("%+v was changed to %+v", before, h)
	}
	if !reflect.DeepEqual(quick.values.index.is, slow.values.index.is) || !reflect.DeepEqual(tallied[0], tallied[1]) {
		t.Fatalf("%+v: learnt %v, tallied %v; not %v, %v", h, quick.values.index.is, tallied[0], slow.values.index.is, tallied[1])
	}
	return plain
}

func TestHeadsAreHiddenInOneLookAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 7))
	n := 0
	for range 5000 {
		if checkHead(t, headOf(r.IntN)) {
			n++
		}
	}
	if n < 300 {
		t.Errorf("%d heads were plain", n)
	}
	many := &wire.HTTPHead{Method: "GET", URL: "http://h/"}
	for range 100 {
		many.Fields = append(many.Fields, wire.Field{Name: "A", Value: "b"}, wire.Field{Name: "C", Value: "known-value"})
	}
	checkHead(t, many)
}

func FuzzHead(f *testing.F) {
	f.Add("POST", "http://127.0.0.1:3001/mcp", "Mcp-Session-Id", "0123456789abcdef0123456789abcdef", "X-Also", "0123456789abcdef0123456789abcdef")
	f.Add("GET", "/a?b=c", "Authorization", "Bearer known-value", "Set-Cookie", "a=b&c; Path=/")
	f.Fuzz(func(t *testing.T, method, url, name, value, other, more string) {
		checkHead(t, &wire.HTTPHead{Method: method, URL: url, Fields: []wire.Field{{Name: name, Value: value}, {Name: other, Value: more}, {Name: "Accept", Value: value}}})
	})
}
