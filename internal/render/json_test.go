package render

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/tests/rendertest"
)

var (
	toPipe   = term.Style{Width: 80}
	terminal = term.Style{Terminal: true, Width: 80}
	colors   = term.Style{Terminal: true, Color: true, Width: 80}
)

func jsonText(t *testing.T, st term.Style, raw string) string {
	t.Helper()
	var b bytes.Buffer
	if err := JSON(&b, st, []byte(raw)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestJSONIntoPipeIsUnchanged(t *testing.T) {
	for _, raw := range []string{
		`{"b":1,"a":9007199254740993,"a":1.10}`, ` { "x" : "` + "\u202e\u009b" + `" } `, `{"broken":`, "\x1b\xff",
	} {
		for _, st := range []term.Style{toPipe, {Color: true}} {
			if got := jsonText(t, st, raw); got != raw+"\n" {
				t.Errorf("%q became %q", raw, got)
			}
		}
	}
	if got := jsonText(t, toPipe, "{}\n"); got != "{}\n" {
		t.Errorf("a line end became two: %q", got)
	}
}

func TestJSONOnTerminal(t *testing.T) {
	raw := `{"b":1,"a":9007199254740993,"a":1.10,"e":1e400,"t":"\u001b[31m","list":[1,2,{"k":[]}],"n":null,"ok":true,"<b>":"日本\\\"x"}`
	rendertest.Golden(t, "json_terminal.txt", []byte(jsonText(t, terminal, raw)))
	colored := jsonText(t, colors, raw)
	rendertest.Golden(t, "json_color.txt", []byte(colored))
	if got, want := ansi.Strip(colored), jsonText(t, terminal, raw); got != want {
		t.Errorf("colour changed the text:\n%s", got)
	}
	if got := string(jsonraw.Compact([]byte(jsonText(t, terminal, raw)))); got != raw {
		t.Errorf("indented and compacted again: %s", got)
	}
}

// A hidden character becomes an escape, and the value stays the same.
func TestJSONHidden(t *testing.T) {
	raw := "{\"k\u202e\":\"a\u009bb\x7f\U000e0041\u2028 👨\u200d👩\",\r\n\"n\":[1]}"
	got := jsonText(t, terminal, raw)
	for _, want := range []string{`"k\u202e"`, `a\u009bb\u007f\udb40\udc41\u2028`, "👨\u200d👩"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not hold %s", got, want)
		}
	}
	if i := strings.IndexFunc(got, rendertest.IsForbidden); i >= 0 {
		t.Errorf("%q holds %q", got, got[i:])
	}
	if !sameJSON([]byte(raw), []byte(got)) {
		t.Errorf("%s is another value than %s", got, raw)
	}
}

func TestJSONThatIsNone(t *testing.T) {
	got := jsonText(t, terminal, "{\"a\":1,,}\x1b[2J garbage")
	if want := "{\"a\":1,,}␛[2J garbage\n[not JSON: invalid JSON at byte 7]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A few kilobytes must not become gigabytes of blanks.
func TestJSONDepth(t *testing.T) {
	deep := strings.Repeat("[", 900) + strings.Repeat("1,", 100_000) + "1" + strings.Repeat("]", 900)
	if got := jsonText(t, terminal, deep); len(got) > 2*len(deep) {
		t.Errorf("%d bytes became %d", len(deep), len(got))
	}
}

func TestJSONLargeIsNotColored(t *testing.T) {
	large := `"` + strings.Repeat("a", maxColored+1) + `"`
	if got := jsonText(t, colors, large); strings.Contains(got, "\x1b") {
		t.Error("coloured")
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,"\u001b","x"]}`))
	f.Add([]byte("\"\u202e\u009b\x7f👨\u200d👩\ufe0f\""))
	f.Add([]byte(`{"a" 1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := jsonText(t, terminal, string(raw))
		if i := strings.IndexFunc(got, rendertest.IsForbidden); i >= 0 {
			t.Fatalf("%q holds %q", got, got[i:])
		}
		if jsonraw.Valid(raw) == nil && jsonraw.Valid([]byte(got)) != nil {
			t.Fatalf("%q is no longer JSON: %q", raw, got)
		}
		if colored := ansi.Strip(jsonText(t, colors, string(raw))); colored != got {
			t.Fatalf("%q in colour: %q", got, colored)
		}
	})
}

// Long JSON is shown in pieces: its memory is not allocated again, and the output is the same.
func TestLongJSONTakesNoMemory(t *testing.T) {
	long := func(letter string) []byte {
		return []byte(`{"a":[1,{},[],"` + strings.Repeat(`x y \"{`+letter+`\\`, longJSON/8) + `",{"b":null}],"c":-1.50}`)
	}
	raw := long("e")
	for name, shown := range map[string]func(w io.Writer) error{
		"whole":  func(w io.Writer) error { return PrettyJSON(w, terminal, raw) },
		"broken": func(w io.Writer) error { return PrettyJSON(w, terminal, raw[1:]) },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := shown(io.Discard); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(raw)) {
			t.Errorf("%s took %d bytes for %d", name, took, len(raw))
		}
	}
	raw = long("é\u202e")
	var b bytes.Buffer
	if err := PrettyJSON(&b, terminal, raw); err != nil {
		t.Fatal(err)
	}
	if got, want := string(jsonraw.Compact(b.Bytes())), strings.ReplaceAll(string(raw), "\u202e", `\u202e`); got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	b.Reset()
	if err := PrettyJSON(&b, terminal, raw[1:]); err != nil || !strings.HasPrefix(b.String(), `"a":[1`) || !strings.Contains(b.String(), "\n[not JSON: ") {
		t.Errorf("%v, %.80q", err, b.String())
	}
}

func TestJSONLine(t *testing.T) {
	for _, c := range []struct {
		st        term.Style
		raw, want string
	}{
		{term.Style{}, "{\"b\": 1,  \"a\":\"\u202e\"}", "{\"b\": 1,  \"a\":\"\u202e\"}"},
		{term.Style{}, "{\"b\":\n1e1}", `{"b":1e1}`},
		{term.Style{Terminal: true}, "{\"b\": 1,\"a\":\"\u202e\"}", `{"b": 1,"a":"\u202e"}`},
	} {
		var b bytes.Buffer
		if err := JSONLine(&b, c.st, []byte(c.raw)); err != nil || b.String() != c.want+"\n" {
			t.Errorf("%q: got %q, %v, want %q", c.raw, b.String(), err, c.want)
		}
	}
}
