package jsonraw

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mcpc/internal/spool"
)

// slowText reads the string at which raw begins one byte after the other.
func slowText(raw []byte) (text longText, ok bool) {
	for i := 1; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			text.length = i + 1
			return text, utf8.Valid(raw[:i])
		case c < ' ':
			return text, false
		case c != '\\':
			i++
		case i+1 < len(raw) && strings.IndexByte(`"\/bfnrt`, raw[i+1]) >= 0:
			i, text.escaped = i+2, true
		default:
			_, size := EscapedCharacter(raw[i:])
			if _, half := EscapedRune(raw[i:]); size == 0 && half {
				size, text.unpaired = 6, true
			} else if size == 0 {
				return text, false
			}
			i, text.escaped = i+size, true
		}
	}
	return text, false
}

// slowTexts returns the strings in raw, up to the first invalid string.
func slowTexts(raw []byte) map[int]longText {
	all := map[int]longText{}
	for at := 0; at < len(raw); at++ {
		if raw[at] != '"' {
			continue
		}
		text, ok := slowText(raw[at:])
		if !ok {
			break
		}
		all[at] = text
		at += text.length - 1
	}
	return all
}

// A text is read as it is, wherever the pieces end.
func FuzzText(f *testing.F) {
	for _, raw := range []string{
		`""`, `{"a":"b\n\"\\","c":["\u00e9é\uD83D\uDE00😀 and more than thirty-two bytes of text in one run"]}`, `"\ud800" "\ud800x"`,
		`"\ud800\ud800\udc00x"`, `"\udc00\\u0041\u0000"`, "\"\xf0\x9f\"", "\"\x01\"", `"\x"`, `"\u12"`, `"cut`, `"cut\`, "\"cut\xf0\x9f", `"é`, "\"12345678\x80\x80\"", `"\u0041`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = raw[:min(len(raw), 100)]
		want := slowTexts(raw)
		for at, text := range want {
			for size := longestEscape + 1; size <= 2*longestEscape; size++ {
				r, to, ended := textReader{}, at+1, false
				for !ended {
					near := raw[to:min(len(raw), to+size)]
					n, end, ok := r.read(near, to+len(near) == len(raw))
					if !ok {
						t.Fatalf("%q at %d in pieces of %d: no text at %d", raw, at, size, to)
					}
					to, ended = to+n, end
				}
				if got := (longText{to - at, r.hasEscape, r.hasUnpaired}); got != text {
					t.Fatalf("%q at %d in pieces of %d: %v, want %v", raw, at, size, got, text)
				}
			}
			s := scanner{raw: raw, offset: at}
			if escaped, ok := s.readString(); !ok || escaped != text.escaped || s.hasUnpaired != text.unpaired || s.offset != at+text.length {
				t.Fatalf("%q at %d: %t %t %d, want %v", raw, at, ok, escaped, s.offset, text)
			}
		}
	})
}

// A long text in a file is read once.
func TestLongTextsAreNoted(t *testing.T) {
	inner := strings.Repeat(`é\n`, spool.Memory/4)
	raw := []byte(`{"a":"` + inner + `\ud800","b":[1,"` + inner + `"]}`)
	b := spool.Dir(t.TempDir()).New(0)
	defer b.Close()
	if _, err := b.Write(raw); err != nil {
		t.Fatal(err)
	}
	mapped, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if Valid(mapped) != nil {
		t.Error("invalid")
	}
	for at, want := range slowTexts(raw) {
		if got := spool.Annotation(mapped[at:]); b.InFile() && want.length > spool.Piece && got != want {
			t.Errorf("at %d: %v, want %v", at, got, want)
		}
	}
	if Valid(mapped) != nil {
		t.Error("invalid at the second look")
	}
}
