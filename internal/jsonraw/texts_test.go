package jsonraw

import (
	"reflect"
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

// slowTexts are the strings in raw, up to the first that is none.
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

// Texts are found as they are, wherever the pieces end.
func FuzzLongTexts(f *testing.F) {
	for _, raw := range []string{`""`, `{"a":"b\n\"\\","c":["\u00e9é\uD83D\uDE00😀 and more than thirty-two bytes of text in one run"]}`, `"\ud800" "\ud800x"`,
		`"\ud800\ud800\udc00x"`, `"\udc00\\u0041\u0000"`, "\"\xf0\x9f\"", "\"\x01\"", `"\x"`, `"\u12"`, `"cut`, `"cut\`, "\"cut\xf0\x9f", `"é`, "\"12345678\x80\x80\"", `"\u0041`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = raw[:min(len(raw), 100)]
		want := slowTexts(raw)
		for from := range len(raw) + 1 {
			for size := 1; size <= 14; size++ {
				l := &LongTexts{found: map[int]longText{}}
				_, _ = l.Write(raw[:from])
				for at := from; at < len(raw); at += size {
					_, _ = l.Write(raw[at:min(at+size, len(raw))])
				}
				l.Note(raw)
				if !reflect.DeepEqual(l.found, want) {
					t.Fatalf("%q in pieces of %d behind %d: %v, want %v", raw, size, from, l.found, want)
				}
			}
		}
		for at, text := range want {
			s := scanner{raw: raw, at: at}
			if escaped, ok := s.text(); !ok || escaped != text.escaped || s.unpaired != text.unpaired || s.at != at+text.length {
				t.Fatalf("%q at %d: %t %t %d, want %v", raw, at, ok, escaped, s.at, text)
			}
		}
	})
}

// A text that was found as the file was written is not read again.
func TestLongTextsAreNoted(t *testing.T) {
	inner := strings.Repeat(`é\n`, spool.Memory/4)
	raw := []byte(`{"a":"` + inner + `\ud800","b":[1,"` + inner + `"]}`)
	b := spool.Dir(t.TempDir()).New(0)
	defer b.Close()
	b.Watch = WatchLongTexts
	if _, err := b.ReadFrom(strings.NewReader(string(raw))); err != nil {
		t.Fatal(err)
	}
	mapped, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range slowTexts(raw) {
		if got := spool.Noted(mapped[at:]); want.length > spool.Piece && got != want {
			t.Errorf("at %d: %v, want %v", at, got, want)
		}
	}
	if Valid(mapped) != nil {
		t.Error("invalid")
	}
}
