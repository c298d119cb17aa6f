package yaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
)

func TestParseGivesJSON(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "null"},
		{"# nothing\n", "null"},
		{"a: 1\nb: [x, true, null, ~]\n", `{"a":1,"b":["x",true,null,null]}`},
		{"n: 9007199254740993\nf: 1.50\ne: 1e400\nm: -0\n", `{"n":9007199254740993,"f":1.50,"e":1e400,"m":-0}`},
		{"zip: '01234'\nday: 2026-07-28\nyes: yes\noff: no\n", `{"zip":"01234","day":"2026-07-28","yes":"yes","off":"no"}`},
		{"z: 1\na: 2\n", `{"z":1,"a":2}`},
		{"text: |\n  two\n  lines\n", `{"text":"two\nlines\n"}`},
		{"x: &x {a: 1}\ny: *x\n", `{"x":{"a":1},"y":{"a":1}}`},
		{"1: one\ntrue: yes\n", `{"1":"one","true":"yes"}`},
		{`{"json": ["is", 1, "too"]}`, `{"json":["is",1,"too"]}`},
		{"\xEF\xBB\xBFa: 1\n", `{"a":1}`},
	} {
		d, err := Parse([]byte(c.text))
		if err != nil || string(d.JSON) != c.want {
			t.Errorf("%q: got %s %v, want %s", c.text, d.JSON, err, c.want)
		}
	}
}

// The core schema of YAML 1.2: values that other versions read as numbers are texts.
func TestParseUsesCoreSchema(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"014", "14"},
		{"-007", "-7"},
		{"+12", "12"},
		{"00", "0"},
		{"-0", "-0"},
		{"08", "8"},
		{"0x10", "16"},
		{"0o14", "12"},
		{"0xffffffffffffffffffff", "1208925819614629174706175"},
		{".5", "0.5"},
		{"-.5e-3", "-0.5e-3"},
		{"5.", "5"},
		{"5.e3", "5e3"},
		{"1.50", "1.50"},
		{"+1E+400", "1E+400"},
		{"1_000", `"1_000"`},
		{"0b11", `"0b11"`},
		{"0o8", `"0o8"`},
		{"+0x10", `"+0x10"`},
		{"1:30", `"1:30"`},
		{"2026-09-13", `"2026-09-13"`},
		{"yes", `"yes"`},
		{"True", "true"},
		{"NULL", "null"},
		{"~", "null"},
		{"<<", `"<<"`},
		{"'014'", `"014"`},
		{"!!str 14", `"14"`},
		{".inf", ""},
		{"-.INF", ""},
		{".NaN", ""},
		{"!!int 014", ""},
		{"!x 1", ""},
	} {
		d, err := ParseCore([]byte("a: " + c.text + "\n"))
		if got := string(d.JSON); got != `{"a":`+c.want+`}` && c.want != "" || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %s %v, want %s", c.text, got, err, c.want)
		}
	}
	if d, err := ParseCore([]byte("<<: {a: 1}\n")); err != nil || string(d.JSON) != `{"<<":{"a":1}}` {
		t.Errorf("<< is no name: %s %v", d.JSON, err)
	}
}

func TestParseErrorsHavePositions(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 9; i++ {
		prev, next := string(rune('0'+i-1)), string(rune('0'+i))
		bomb += "a" + next + ": &a" + next + " [" + strings.TrimSuffix(strings.Repeat("*a"+prev+",", 9), ",") + "]\n"
	}
	for _, c := range []struct{ text, want string }{
		{"a: 01234\n", "1:4: 01234 is not a JSON number"},
		{"a:\n  b: 0x10\n", "2:6: 0x10 is not a JSON number"},
		{"a: .inf\n", "1:4: .inf is not a JSON number"},
		{"a: 1\nb: 2\na: 3\n", `3:1: the name "a" is duplicated`},
		{"a: {x: 1}\nb:\n  <<: {y: 2}\n", "3:3: << is not supported"},
		{"a: 1\n---\nb: 2\n", "a second document"},
		{"a: 1\n---\nb: [1\n", "3:1: did not find expected ',' or ']'"},
		{"a: 1\nb: [1, 2\nc: 3\n", "2:1: did not find"},
		{"a:\n  b: 1\n c: 2\n", "3:2: did not find expected key"},
		{"a: 1\nb: \"x\nc: 1\n", "2:1: found unexpected end of stream"},
		{"a: 1\n\tb: 2\n", "2:1: a tab in the indentation"},
		{"a:\n\t- x\n", "2:1: a tab in the indentation"},
		{"a:\n  - b: 1\n    \tc: 2\n", "3:5: a tab in the indentation"},
		{"{\n\t\"a\": 1,\n\t\"b\" 2\n}\n", "did not find expected ',' or '}'"},
		{"a: b: c\n", "1:1: mapping values are not allowed"},
		{"a: !!binary aGk=\n", "1:4: values of type !!binary"},
		{"a: !!bool yes\n", "1:4: yes is neither true nor false"},
		{"? [a, b]\n: c\n", "1:3: a name must be a text"},
		{"a: \xff\n", "1:1: the text is not UTF-8"},
		{strings.Repeat("[", 400) + strings.Repeat("]", 400), "too large"},
		{bomb, "too large"},
		{"a: &a [*a]\n", "too large"},
	} {
		_, err := Parse([]byte(c.text))
		var failed *Error
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// unclosed returns a text of the given number of lines; the line at opens a bracket that nothing
// closes.
func unclosed(lines, at int) []byte {
	var b strings.Builder
	for i := 1; i <= lines; i++ {
		if i == at {
			b.WriteString("b: [1, 2\n")
		} else {
			fmt.Fprintf(&b, "key%d: 1\n", i)
		}
	}
	return []byte(b.String())
}

// The place of an error is found in a time that grows as the text does: eight times the
// text is eight times the work, counted in allocations, and not sixty-four times.
func TestErrorsAreFoundInLinearTime(t *testing.T) {
	for _, part := range []int{100, 2, 1} {
		work := func(lines int) float64 {
			text, at := unclosed(lines, lines/part), lines/part
			if _, err := Parse(text); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("%d:1: did not find expected ',' or ']'", at)) {
				t.Fatalf("line %d of %d: %v", at, lines, err)
			}
			return testing.AllocsPerRun(1, func() { _, _ = Parse(text) })
		}
		if small, large := work(500), work(4000); large > 12*small {
			t.Errorf("line 1/%d: %.0f allocations for 500 lines, %.0f for 4000", part, small, large)
		}
	}
}

func BenchmarkError(b *testing.B) {
	for _, lines := range []int{500, 4000} {
		text := unclosed(lines, lines)
		b.Run(fmt.Sprint(lines), func(b *testing.B) {
			for b.Loop() {
				_, _ = Parse(text)
			}
		})
	}
}

func TestParseReportsAllProblems(t *testing.T) {
	d, err := Parse([]byte("a: 01\nb: {<<: x, c: [0x1, 2], c: 3, [d]: 4, e: 5}\n"))
	if err == nil || string(d.JSON) != `{"a":null,"b":{"c":[null,2],"e":5}}` {
		t.Errorf("got %s %v", d.JSON, err)
	}
	var got []string
	for _, p := range d.Problems {
		got = append(got, p.Pointer+" "+p.Place.String())
	}
	if want := "/a 1:4, /b 2:5, /b/c/0 2:16, /b 2:25, /b 2:31"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}

func TestPlaceOfPointer(t *testing.T) {
	d, err := Parse([]byte("server: demo\nsteps:\n  - call: x\n    args: {a/b: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"": "1:1", "/server": "1:9", "/steps/0": "3:5", "/steps/0/args/a~1b": "4:17",
		"/steps/0/none": "3:5", "/other": "1:1",
	} {
		if got := d.Place(pointer).String(); got != want {
			t.Errorf("Place(%s): got %s, want %s", pointer, got, want)
		}
	}
	if got := d.NamePlace("/steps/0/args").String(); got != "4:5" {
		t.Errorf("NamePlace: got %s", got)
	}
}

func TestWrittenYAMLParsesToSameJSON(t *testing.T) {
	for _, raw := range []string{
		`{"a":1,"b":[],"c":{},"d":[{"x":"y","z":[1,2]}]}`,
		`{"n":9007199254740993,"f":1.50,"t":true,"nil":null}`,
		`{"s":"01234","t":"true","u":"null","v":"1e3","w":"","x":"a: b","y":"- x","z":"2026-07-28"}`,
		`{"lines":"one\ntwo\n","odd":"\u0000\u001b[31m\t\r\n","bidi":"\u202ex\udb40\udc41","end":"x\n\n","lead":"\n x"}`,
		`{"$(touch x)":"${a}","#":"# no comment","yes":"no","on":"~","<<":"=","1":"2"}`,
		`"text"`, `[]`,
	} {
		text, err := Write([]byte(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		d, err := Parse(text)
		if err != nil || !sameJSON(d.JSON, []byte(raw)) || bytes.ContainsRune(text, '\u202e') {
			t.Errorf("%s\nwas written as\n%s\nand read as %s %v", raw, text, d.JSON, err)
		}
	}
}

// sameJSON compares two documents whatever their escapes.
func sameJSON(a, b []byte) bool {
	var texts [2][]byte
	for i, raw := range [][]byte{a, b} {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil {
			return false
		}
		texts[i], _ = json.Marshal(v)
	}
	return bytes.Equal(texts[0], texts[1])
}

func FuzzParse(f *testing.F) {
	f.Add("a: 1\nb: [x, {c: d}]\n")
	f.Add("- &a x\n- *a\n")
	f.Add("a: 01\na: 2\n<<: {x: 1}\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse([]byte(text))
		if (err == nil || d.JSON != nil) && jsonraw.Valid(d.JSON) != nil {
			t.Errorf("%q gave %s, which is no JSON", text, d.JSON)
		}
	})
}
