package term

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"mcpc/internal/sanitize"
	"mcpc/internal/tests/rendertest"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "get-sum", "get-sum"},
		{"empty", "", ""},
		{"color", "\x1b[31mred", "␛[31mred"},
		{"clear screen", "\x1b[2J", "␛[2J"},
		{"title", "\x1b]0;t\x07", "␛]0;t␇"},
		{"clipboard", "\x1b]52;c;YQ==\x07", "␛]52;c;YQ==␇"},
		{"link", "\x1b]8;;file:///x\x1b\\y", "␛]8;;file:///x␛\\y"},
		{"device control", "\x1bP1$r\x1b\\", "␛P1$r␛\\"},
		{"8-bit CSI as a byte", "\x9b31m", `\x9b31m`},
		{"8-bit CSI as a character", "\u009b31m", "⟨U+009B⟩31m"},
		{"overwrite", "safe\revil", "safe␍evil"},
		{"backspace", "ab\b\bcd", "ab␈␈cd"},
		{"line end", "a\nb\tc", "a␊b␉c"},
		{"null", "a\x00b", "a␀b"},
		{"delete", "a\x7fb", "a␡b"},
		{"bidi override", "a\u202eb", "a⟨U+202E⟩b"},
		{"bidi isolate", "\u2066a\u2069", "⟨U+2066⟩a⟨U+2069⟩"},
		{"marks", "\u200e\u200f\u061c", "⟨U+200E⟩⟨U+200F⟩⟨U+061C⟩"},
		{"zero width", "a\u200b\u200c\u200d\u2060\ufeffb", "a⟨U+200B⟩⟨U+200C⟩⟨U+200D⟩⟨U+2060⟩⟨U+FEFF⟩b"},
		{"soft hyphen", "co\u00adop", "co⟨U+00AD⟩op"},
		{"tags", "x\U000e0041\U000e007f", "x⟨U+E0041⟩⟨U+E007F⟩"},
		{"variation selectors", "a\ufe00b\ufe0fc\U000e0100", "a⟨U+FE00⟩b⟨U+FE0F⟩c⟨U+E0100⟩"},
		{"separators", "a\u2028b\u2029c", "a⟨U+2028⟩b⟨U+2029⟩c"},
		{"fillers", "\u115f\u1160\u3164\uffa0\u034f", "⟨U+115F⟩⟨U+1160⟩⟨U+3164⟩⟨U+FFA0⟩⟨U+034F⟩"},
		{"noncharacter", "\uffff\ufdd0", "⟨U+FFFF⟩⟨U+FDD0⟩"},
		{"broken utf-8", "a\xffb\xc3", `a\xffb\xc3`},
		{"surrogate", "\xed\xa0\x80", `\xed\xa0\x80`},
		{"replacement character", "a\ufffdb", "a\ufffdb"},
		{"languages", "Grüße 日本語 हिन्दी العربية", "Grüße 日本語 हिन्दी العربية"},
		{"Arabic number sign", "\u0600", "\u0600"},
		{"family", "👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"},
		{"heart on fire", "❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"},
		{"skin tone", "👩🏽\u200d🚀", "👩🏽\u200d🚀"},
		{"keycap", "1\ufe0f\u20e3", "1\ufe0f\u20e3"},
		{"flag", "🇩🇪", "🇩🇪"},
		{"joiner without a second emoji", "👨\u200dx", "👨⟨U+200D⟩x"},
		{"joiners in a row", "👨\u200d\u200d👩", "👨⟨U+200D⟩⟨U+200D⟩👩"},
		{"selectors in a row", "❤\ufe0f\ufe0f", "❤\ufe0f⟨U+FE0F⟩"},
		{"selectors behind an emoji", "😀\U000e0101\ufe01", "😀⟨U+E0101⟩⟨U+FE01⟩"},
	} {
		if got := Line(c.in); got != c.want {
			t.Errorf("%s: Line(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
		checkClean(t, c.in)
	}
}

func TestBlock(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a\nb\tc\n", "a\nb\tc\n"},
		{"a\r\nb\r\n", "a\r\nb\r\n"},
		{"safe\revil", "safe␍evil"},
		{"a\r\r\nb", "a␍\r\nb"},
		{"end\r", "end␍"},
		{"a\v\fb", "a␋␌b"},
		{"\x1b[2Ja\n", "␛[2Ja\n"},
	} {
		if got := Block(c.in); got != c.want {
			t.Errorf("Block(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestSanitizerInASCII(t *testing.T) {
	st := Style{ASCII: true}
	if got, want := st.Line("\x1b[31m\x7f\u202e\x9b日\n"), `^[[31m^?<U+202E>\x9b日^J`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHiddenCharactersAreCounted(t *testing.T) {
	for in, want := range map[string]int{
		"Search docs.":                         0,
		"two\nlines\tand\r\nCRLF":              0,
		"👨\u200d👩\u200d👧 ❤\ufe0f":              0,
		"Search docs.\U000e0069\U000e0067":     2,
		"\u202eabc\u202c":                      2,
		"\x1b[31m":                             1,
		"\xff\xfe":                             2,
		strings.Repeat("a\u200b", 1000) + "\r": 1001,
	} {
		if got := sanitize.Hidden(in); got != want {
			t.Errorf("sanitize.Hidden(%q) = %d, want %d", in, got, want)
		}
	}
}

// The writer must give what Block gives, wherever the text is cut in two.
func TestSanitizerCutAnywhere(t *testing.T) {
	text := "a\r\nb\rc 👨\u200d👩 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3 日\x1b[0m\xff\u202e\u200d\r"
	for cut := range len(text) + 1 {
		var b bytes.Buffer
		w := Style{}.Sanitizer(&b)
		for _, part := range []string{text[:cut], text[cut:]} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != Block(text) {
			t.Fatalf("cut at %d: %q, want %q", cut, got, Block(text))
		}
	}
}

func checkClean(t *testing.T, in string) {
	t.Helper()
	for name, clean := range map[string]func(string) string{
		"Line": Line, "Block": Block, "ASCII Line": Style{ASCII: true}.Line, "ASCII Block": Style{ASCII: true}.Block,
	} {
		out := clean(in)
		if !utf8.ValidString(out) {
			t.Fatalf("%s(%q) = %q is not UTF-8", name, in, out)
		}
		if i := strings.IndexFunc(out, rendertest.IsForbidden); i >= 0 {
			t.Fatalf("%s(%q) = %q holds %q", name, in, out, out[i:])
		}
		if strings.Contains(name, "Line") && strings.ContainsAny(out, "\n\r\t") {
			t.Fatalf("%s(%q) = %q is not one line", name, in, out)
		}
		if strings.Contains(strings.ReplaceAll(out, "\r\n", ""), "\r") {
			t.Fatalf("%s(%q) = %q holds a lone CR", name, in, out)
		}
		if again := clean(out); again != out {
			t.Fatalf("%s twice of %q: %q, then %q", name, in, out, again)
		}
	}
}

func seeds(f *testing.F) {
	for _, s := range []string{
		"", "plain", "\x1b]52;c;x\x07", "a\r\nb\rc", "\u009b\x9b\u202e", "👨\u200d👩\ufe0f\u200d🔥",
		"1\ufe0f\u20e3", "\xed\xa0\x80\xff", "\U000e0041\u2028\ufeff", "x\u200d\ufe0f",
	} {
		f.Add(s)
	}
}

func FuzzLine(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) { checkClean(t, s) })
}

func FuzzBlock(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		checkClean(t, s)
		if (sanitize.Hidden(s) == 0) != (Block(s) == s) {
			t.Fatalf("sanitize.Hidden(%q) = %d, Block gives %q", s, sanitize.Hidden(s), Block(s))
		}
		var b bytes.Buffer
		w := Style{}.Sanitizer(&b)
		for i := range len(s) {
			_, _ = w.Write([]byte{s[i]})
		}
		if _ = w.Close(); b.String() != Block(s) {
			t.Fatalf("byte by byte %q, at once %q", b.String(), Block(s))
		}
	})
}
