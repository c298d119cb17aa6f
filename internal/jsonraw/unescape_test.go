package jsonraw

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcpc/internal/spool"
)

func FuzzUnescaped(f *testing.F) {
	for _, quoted := range []string{`""`, `"a"`, `"a\nb\\\"\/\b\f\r\t"`, `"\u00e9é\uD83D\uDE00😀"`, `"\ud800"`, `"\ud800\ud800\udc00x"`, `"\udc00\\u0041\u0000"`} {
		f.Add([]byte(quoted))
	}
	f.Fuzz(func(t *testing.T, quoted []byte) {
		want, ok := Text(quoted)
		if !ok || Valid(quoted) != nil || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
			return
		}
		for size := 1; size <= len(quoted)+1; size++ {
			var got bytes.Buffer
			for piece := range unescaped(quoted, size) {
				if len(piece) > size+3 {
					t.Fatalf("%q: a piece of %d bytes in pieces of %d", quoted, len(piece), size)
				}
				got.Write(piece)
			}
			if got.String() != want {
				t.Fatalf("%q in pieces of %d reads %q, want %q", quoted, size, got.String(), want)
			}
		}
	})
}

// A string may be unquoted in its own place.
func FuzzUnquote(f *testing.F) {
	for _, quoted := range []string{`""`, `"`, ``, `"a"`, `"12345678"`, `"1234567\""`, `"12345678\u00e9"`, `"{\"a\":\"b\\n\"}"`, `"äöü 12345678 äöü"`, "\"1234567\x80\"", "\"\n\"", `"\x"`, `"\"`, `"a"b"`, `"\ud800"`} {
		f.Add([]byte(quoted))
	}
	f.Fuzz(func(t *testing.T, quoted []byte) {
		want, err := jsontext.AppendUnquote([]byte("before"), quoted)
		if there, ok := Unquote(bytes.Clone(quoted)[:0], quoted); ok != (err == nil) || ok && string(there) != string(want[len("before"):]) {
			t.Fatalf("%q reads %q, want %q", quoted, there, want)
		}
		place := bytes.Clone(quoted)
		if there, ok := Unquote(place[:0], place); ok != (err == nil) || ok && string(there) != string(want[len("before"):]) {
			t.Fatalf("%q reads %q in its own place, want %q", quoted, there, want)
		}
	})
}

// A character at the border of two pieces of a long text is read like elsewhere.
func TestLongTexts(t *testing.T) {
	for _, what := range []string{"é", "😀", `\n`, `\\`, `\uD83D\uDE00`, `\ud800`, "\x80", "\xf0\x9f", "\x01", `\x`, `\ud8`, `"`} {
		text := strings.Repeat("x", spool.Piece+20)
		for at := spool.Piece - 20; at < spool.Piece+5; at++ {
			quoted := []byte(`"` + text[:at] + what + text[at:] + `"`)
			valid := json.Valid(quoted) && utf8.Valid(quoted)
			if err := Valid(quoted); (err == nil) != valid {
				t.Errorf("%q at %d: %v, want valid %t", what, at, err, valid)
			}
			if got, want := ValidUTF8(quoted), utf8.Valid(quoted); got != want {
				t.Errorf("%q at %d: UTF-8 %t, want %t", what, at, got, want)
			}
		}
	}
}

// A long text in a file is read once, and is then what it was.
func TestLongTextIsNoted(t *testing.T) {
	text := strings.Repeat(`é\n`, spool.Memory/4)
	raw := []byte(`{"a":"` + text + `\ud800","b":[1,"` + text + `"]}`)
	b := spool.Dir(t.TempDir()).New(0)
	defer b.Close()
	if _, err := b.Write(raw); err != nil {
		t.Fatal(err)
	}
	mapped, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		var got, want Index
		gotMembers, gotUnpaired, gotErr := Envelope(mapped, &got, nil)
		wantMembers, wantUnpaired, wantErr := Envelope(raw, &want, nil)
		if !reflect.DeepEqual(gotMembers, wantMembers) || gotUnpaired != wantUnpaired || gotErr != nil || wantErr != nil {
			t.Fatalf("%v %v, want %v %v", gotUnpaired, gotErr, wantUnpaired, wantErr)
		}
		if whole, err := Object(mapped); err != nil || !reflect.DeepEqual(whole, wantMembers) {
			t.Fatal(err)
		}
	}
}

// All pieces come in order, each as it was made; a loop that ends early stops the goroutine.
func TestAheadKeepsOrderOfPieces(t *testing.T) {
	const pieces = 7
	for stop := range pieces + 2 {
		made, ended := 0, 0
		var got []byte
		for p := range prefetch(make([]byte, 4), func(p []byte) []byte {
			if made == pieces {
				ended++
				return p
			}
			made++
			return append(p, byte(made), byte(2*made))
		}) {
			if got = append(got, p...); len(got)/2 == stop {
				break
			}
		}
		// The goroutine has ended, so that made can be read.
		if want := min(stop, pieces); stop > 0 && len(got)/2 != want || stop == 0 && len(got)/2 != pieces {
			t.Fatalf("%d pieces, stopped at %d", len(got)/2, stop)
		}
		for i := range len(got) / 2 {
			if !slices.Equal(got[2*i:2*i+2], []byte{byte(i + 1), byte(2 * (i + 1))}) {
				t.Fatalf("piece %d is %d", i, got[2*i:2*i+2])
			}
		}
		if ended > 1 || made > len(got)/2+2 {
			t.Fatalf("made %d pieces of which %d were taken, ended %d times", made, len(got)/2, ended)
		}
	}
}
