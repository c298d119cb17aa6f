package mock

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/wire"
)

func TestValuesThatMayBeHandles(t *testing.T) {
	for params, want := range map[string]string{
		`{"name":"tool","arguments":{"order":"o-1234","n":12345,"orderId":7,"ids":[8,"x"],"s":"abc","ok":true,"deep":{"key":"k"}}}`: "7 8 k o-1234 x",
		`{"uri":"demo://a/1","_meta":{"progressToken":"token"}}`:                                                                    "demo://a/1",
		`{"uri":"orders://o-1234/items?page=2"}`:                                                                                    "o-1234 orders://o-1234/items?page=2",
		`{"name":"tool"}`:                                                                                                           "",
	} {
		got := strings.Join(valuesOf(&wire.Message{Params: json.RawMessage(params)}), " ")
		if got != want {
			t.Errorf("%s: %s, want %s", params, got, want)
		}
	}
}

func TestWordsInResults(t *testing.T) {
	const result = `{"content":[{"type":"text","text":"made o-1234, and \"o-99\"."}],"structuredContent":{"id":7,"uri":"demo://a/1/b"}}`
	for value, want := range map[string]bool{
		"o-1234": true, "o-123": false, "1234": false, "o-99": true, "7": true, "demo://a/1": true, "made": true, "text": true, "content": false,
	} {
		if got := hasWord(textsOf(json.RawMessage(result)), value); got != want {
			t.Errorf("%s: %v", value, got)
		}
	}
}

func TestCounterpartsOfHandles(t *testing.T) {
	for _, c := range []struct{ recorded, present, value, want string }{
		{`{"id":7}`, `{"id":50}`, "7", "50"},
		{`{"id":"o-1"}`, `{"other":"o-2"}`, "o-1", ""},
		{`{"text":"made o-1 at 10:30"}`, `{"text":"made o-2 at 11:45"}`, "o-1", "o-2"},
		{`{"text":"see demo://a/1\nend"}`, `{"text":"see demo://b/2\nend"}`, "demo://a/1", "demo://b/2"},
		{`{"text":"{\"list\":[{\"id\":\"o-1\"}]}"}`, `{"text":"{\"list\":[{\"id\":\"o-2\"}]}"}`, "o-1", "o-2"},
		{`{"text":"made o-1"}`, `{"text":"there are too many orders"}`, "o-1", ""},
		{`[1,{"id":"o-1"}]`, `[1]`, "o-1", ""},
	} {
		if got := counterpart(json.RawMessage(c.recorded), json.RawMessage(c.present), c.value); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.value, c.present, got, c.want)
		}
	}
}

func TestNoMoreValuesThanTheLimit(t *testing.T) {
	params := `{"arguments":["` + strings.Join(slices.Repeat([]string{"value"}, 2*maxValues), `","`) + `"]}`
	if got := len(valuesOf(&wire.Message{Params: json.RawMessage(params)})); got > maxValues {
		t.Errorf("%d values", got)
	}
}
