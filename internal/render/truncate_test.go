package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
)

func TestCutText(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"short", 10, "short"},
		{"exactly ten", 11, "exactly ten"},
		{"天気がいいですね", 4, "天気がい\n… [cut, 4 more characters]\n"},
		{"one\ntwo\nthree", 4, "one\n… [cut, 9 more characters]\n"},
	} {
		if got, _ := TruncateText(c.text, c.most); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestCutJSON(t *testing.T) {
	long := strings.Repeat("x", 5000)
	var tools []string
	for i := range 50 {
		tools = append(tools, fmt.Sprintf(`{"name":"tool-%d","description":"%s","inputSchema":{"type":"object","required":["a","b"]}}`, i, strings.Repeat("d", 300)))
	}
	for _, c := range []struct{ raw, texts, lists string }{
		{`{"content":[{"type":"text","text":"` + long + `"}],"isError":false}`, "1", "[]"},
		{`{"content":[{"type":"text","text":"` + strings.Repeat(`\n\"`, 2000) + `"}]}`, "1", "[]"},
		{`{"content":[{"type":"text","text":"` + strings.Repeat(`\ud83d\ude00`, 900) + `"}]}`, "1", "[]"},
		{`{"content":[{"type":"text","text":"` + strings.Repeat(`天`, 5000) + `"}], "n": 9007199254740993, "f": 1.50}`, "1", "[]"},
		{`{"tools":[` + strings.Join(tools, ",") + `],"nextCursor":"x"}`, "", "of 50 items"},
		{`[` + strings.TrimSuffix(strings.Repeat(`1234567890,`, 500), ",") + `]`, "0", "the list has"},
		{`{"a":[` + strings.TrimSuffix(strings.Repeat(`["x","y"],`, 500), ",") + `],"b":"` + long + `"}`, "1", "/a has"},
	} {
		cut, how, err := TruncateJSON(json.RawMessage(c.raw), 1000)
		n := utf8.RuneCount(cut)
		if err != nil || n > 1000 || n < 500 || jsonraw.Valid(cut) != nil || !json.Valid(cut) || how.Shown != n || how.Whole != utf8.RuneCountInString(c.raw) {
			t.Errorf("%.60s\ngot %d characters, %v, %+v\n%s", c.raw, n, err, how, cut)
		}
		if c.texts != "" && fmt.Sprint(how.Texts) != c.texts || !strings.Contains(fmt.Sprint(how.Lists), c.lists) {
			t.Errorf("%.60s\ngot %+v, want %s texts and %s", c.raw, how, c.texts, c.lists)
		}
		var v any
		if json.Unmarshal(cut, &v) != nil || strings.ContainsRune(string(cut), utf8.RuneError) {
			t.Errorf("no whole characters: %s", cut)
		}
	}
	if _, _, err := TruncateJSON(json.RawMessage(`{`+strings.TrimSuffix(strings.Repeat(`"abcdefghij":1,`, 200), ",")+`}`), 1000); !errors.Is(err, ErrTooManyNames) {
		t.Errorf("an object with many members: %v", err)
	}
	if same, how, _ := TruncateJSON(json.RawMessage(`{ "a" : 1 }`), 100); string(same) != `{ "a" : 1 }` || how.Truncated() {
		t.Errorf("what fits is changed: %s", same)
	}
}
