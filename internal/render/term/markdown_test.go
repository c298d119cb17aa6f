package term

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"mcpc/internal/tests/rendertest"
)

const weather = `# The *weather* of the week

It is **mostly sunny**, with _some_ clouds; see [the map](https://maps.example/a_b?c=d*e*) or
[https://plain.example](https://plain.example), and ![a chart](https://img.example/c.png "of rain"). snake_case_names, 2 * 3 * 4 and a*b*c stay.

## Days

1. Monday: ` + "`get-weather day=mon`" + ` is what **one calls, with a long text that has to be broken somewhere** before it ends
2. Tuesday
   - nested, 天気は晴れ、気温は二十五度、風は弱い、湿度は六十パーセント、明日は曇りのち雨でしょう
   - \*not emphasized\*
* a star

> quoted **strongly**
> > twice

| Day | ° C | Sky |
|:----|----:|-----|
| Mon | 25  | ` + "`a|b`" + ` |
| 火曜日 | -3  | snow ☃ and [more](https://s.example) |

---

` + "```go\nfunc main() {\n\tfmt.Println(\"**not bold**\", `x`) // # no heading\n}\n```" + `
Code by its indentation:

    def __init__(self, *args, **more):
        pass

This paragraph was broken by its author at a width that is not that of the
terminal which **shows
it now**, and
is broken anew where it does not fit.

Setext
======
<b>HTML</b> is text &amp; stays, [ref]: https://ref.example
unclosed **strong and ` + "`code" + `
`

func TestProse(t *testing.T) {
	var all bytes.Buffer
	for _, st := range []Style{
		{Terminal: true, Color: true, Width: 80},
		{Terminal: true, Color: true, Width: 40},
		{Terminal: true, Color: true, Width: 120},
		{Terminal: true, Color: true, Width: 60, ASCII: true},
	} {
		fmt.Fprintf(&all, "=== %s\n", rendertest.StyleName(st.Terminal, st.Color, st.Width, st.ASCII))
		got := Markdown(st, weather)
		all.WriteString(got)
		lettersStay(t, weather, got)
	}
	rendertest.Golden(t, "prose.txt", all.Bytes())
}

// lettersStay holds a drawn text to have each letter and digit of its source, in order.
func lettersStay(t *testing.T, source, got string) {
	t.Helper()
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return -1
		}, s)
	}
	rest := letters(ansi.Strip(got))
	for _, r := range letters(Block(source)) {
		_, after, ok := strings.Cut(rest, string(r))
		if !ok {
			t.Fatalf("%q: %q is lost in %q", source, r, got)
		}
		rest = after
	}
}

func TestLooksLikeMarkdown(t *testing.T) {
	for text, want := range map[string]bool{
		"# Report\n\nAll is **well**.":                                      true,
		"See [it](https://a.example) and\n\n```\ncode\n```":                 true,
		"| a | b |\n|---|---|\n| 1 | **2** |":                               true,
		"Hello, world.":                                                     false,
		"# just a title\n\nand a text":                                      false,
		"# comment\nx = 2 ** 3 ** 4\n# another\ndef f(**kwargs): pass":      false,
		"#!/bin/sh\n# a script\n\nls *.txt\n":                               false,
		"key: value\nlist:\n  - a\n  - b\n# comment\n":                      false,
		"The sum of 1 and 2 is 3.":                                          false,
		"a | b\n--|--\n":                                                    false,
		"total **bold** only":                                               false,
		"[2025-01-01] INFO **started**\n[2025-01-01] see [x](http://a.b/c)": true,
	} {
		if got := LooksLikeMarkdown(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// However a text is drawn, nothing in it acts on the terminal, and each of its
// letters is seen.
func FuzzProse(f *testing.F) {
	f.Add(weather, 80)
	for _, text := range []string{
		"**a\x1b[2J**", "[a](b\x07)", "![](x)", "| a |\n|-|\n| `|` |", "~~~x\n~~~", "> 1) \\", "\\\\*", "[](",
		"`` ` ``", "***a***", "_a__b_", "# \u202e", "- \r\n-\r", "*a*b* c*", "\x1b[1m",
	} {
		f.Add(text, 20)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		got := Markdown(Style{Terminal: true, Color: true, Width: width % 300}, text)
		plain := got
		for i := strings.Index(plain, "\x1b["); i >= 0; i = strings.Index(plain, "\x1b[") {
			m := strings.IndexByte(plain[i:], 'm')
			if m < 0 || strings.Trim(plain[i+2:i+m], "12346;0") != "" {
				t.Fatalf("%q: an escape that is no style: %q", text, got)
			}
			plain = plain[:i] + plain[i+m+1:]
		}
		if i := strings.IndexFunc(plain, func(r rune) bool { return r != '\n' && rendertest.IsForbidden(r) }); i >= 0 {
			t.Fatalf("%q: %q is forbidden", text, plain[i:])
		}
		lettersStay(t, text, got)
	})
}

func BenchmarkProse(b *testing.B) {
	for name, text := range map[string]string{"page": weather, "lines": strings.Repeat("a short line\n", 50_000), "marks": strings.Repeat("*[`a ", 100_000)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_ = Markdown(Style{Terminal: true, Color: true, Width: 80}, text)
			}
		})
	}
}
