package compress

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

type flusher interface {
	io.WriteCloser
	Flush() error
}

// encoders have each coding as servers send it; "raw deflate" is deflate without the zlib header.
var encoders = map[string]func(io.Writer) flusher{
	"gzip":    func(w io.Writer) flusher { return gzip.NewWriter(w) },
	"deflate": func(w io.Writer) flusher { return zlib.NewWriter(w) },
	"raw deflate": func(w io.Writer) flusher {
		z, _ := flate.NewWriter(w, flate.BestSpeed)
		return z
	},
	"br": func(w io.Writer) flusher { return brotli.NewWriter(w) },
	"zstd": func(w io.Writer) flusher {
		z, _ := zstd.NewWriter(w)
		return z
	},
}

func encoded(t *testing.T, name string, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := encoders[name](&b)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// codingsOf returns the Content-Encoding of an encoder.
func codingsOf(name string) []string { return []string{strings.TrimPrefix(name, "raw ")} }

func TestDecodeReturnsTheText(t *testing.T) {
	long := bytes.Repeat([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), 20_000)
	for name := range encoders {
		for _, text := range [][]byte{[]byte("x"), []byte(`{"a":1}`), long} {
			body := encoded(t, name, text)
			if got, err := Decode(body, codingsOf(name), len(text)); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s: got %d bytes and %v, want %d", name, len(got), err, len(text))
			}
			single, err := io.ReadAll(NewReader(iotest.OneByteReader(bytes.NewReader(body)), codingsOf(name)))
			if err != nil || !bytes.Equal(single, text) {
				t.Errorf("%s, byte by byte: got %d bytes and %v, want %d", name, len(single), err, len(text))
			}
		}
	}
}

func TestDecodeUndoesSeveralCodings(t *testing.T) {
	body := encoded(t, "br", encoded(t, "gzip", []byte("text")))
	if got, err := Decode(body, Split(" GZIP , identity, Br"), 100); err != nil || string(got) != "text" {
		t.Errorf("got %q and %v", got, err)
	}
	if err := Check([]string{"gzip", "gzip", "gzip", "gzip", "gzip"}); err == nil {
		t.Error("five codings were accepted")
	}
}

func TestDecodeKeepsAnEmptyBody(t *testing.T) {
	for name := range encoders {
		if got, err := Decode(nil, codingsOf(name), 10); len(got) > 0 || err != nil {
			t.Errorf("%s: got %q and %v", name, got, err)
		}
	}
}

func TestDecodeStopsAtTheLimit(t *testing.T) {
	for name := range encoders {
		if got, err := Decode(encoded(t, name, make([]byte, 1<<20)), codingsOf(name), 1000); len(got) != 1001 || err != nil {
			t.Errorf("%s: got %d bytes and %v", name, len(got), err)
		}
	}
}

func TestDecodeReportsDamagedBodies(t *testing.T) {
	for name := range encoders {
		whole := encoded(t, name, bytes.Repeat([]byte("some text, and more "), 100))
		for what, body := range map[string][]byte{"plain text": []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`), "a cut body": whole[:len(whole)-7]} {
			_, err := Decode(body, codingsOf(name), 1<<20)
			if _, damaged := errors.AsType[*DamagedError](err); !damaged {
				t.Errorf("%s, %s: got %v", name, what, err)
			}
		}
	}
}

func TestReaderReturnsTheErrorOfItsSource(t *testing.T) {
	broken := errors.New("connection reset")
	for name := range encoders {
		body := encoded(t, name, bytes.Repeat([]byte("some text, and more "), 100))
		src := io.MultiReader(bytes.NewReader(body[:len(body)-7]), iotest.ErrReader(broken))
		if _, err := io.ReadAll(NewReader(src, codingsOf(name))); !errors.Is(err, broken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestReaderRefusesBodiesThatGrowTooMuch(t *testing.T) {
	for _, name := range []string{"br", "zstd"} { // gzip and deflate grow no more than 1,032 times
		body := encoded(t, name, make([]byte, freeSize+(8<<20)))
		n, err := io.Copy(io.Discard, NewReader(bytes.NewReader(body), codingsOf(name)))
		if _, grows := errors.AsType[*GrowsError](err); !grows || n > freeSize+(1<<20) {
			t.Errorf("%s: %d bytes became %d, and got %v", name, len(body), n, err)
		}
	}
}

// TestReaderReturnsWhatWasFlushed reads from a pipe that stays open.
func TestReaderReturnsWhatWasFlushed(t *testing.T) {
	for name, encode := range encoders {
		src, w := io.Pipe()
		go func() {
			z := encode(w)
			for range 3 {
				_, _ = io.WriteString(z, "data: 1\n\n")
				_ = z.Flush()
			}
		}()
		r := NewReader(src, codingsOf(name))
		got := make([]byte, len("data: 1\n\n"))
		for range 3 {
			if _, err := io.ReadFull(r, got); err != nil || string(got) != "data: 1\n\n" {
				t.Fatalf("%s: got %q and %v", name, got, err)
			}
		}
		src.Close()
	}
}

func TestCodingsReadsTheField(t *testing.T) {
	for field, want := range map[string]string{"": "", "identity": "", "X-Gzip": "gzip", "deflate, br": "deflate br", " , zstd ,": "zstd", "lzma": "lzma"} {
		if got := strings.Join(Codings(http.Header{"Content-Encoding": {field}}), " "); got != want {
			t.Errorf("%q: got %q, want %q", field, got, want)
		}
	}
	if err := Check([]string{"gzip", "lzma"}); err == nil || err.Error() != "the content coding lzma is not supported" {
		t.Errorf("got %v", err)
	}
}

// Each damage is named as what it is.
func TestErrorsNameTheDamage(t *testing.T) {
	text := []byte(strings.Repeat(`{"jsonrpc":"2.0","id":1,"result":{}}`, 20))
	damaged := func(name string, from int) []byte {
		body := encoded(t, name, text)
		at := (from + len(body)) % len(body)
		body[at] ^= 0xff
		return body
	}
	cut := func(name string) []byte {
		body := encoded(t, name, text)
		return body[:len(body)/2]
	}
	for _, c := range []struct {
		name, coding string
		body         []byte
		want         string
	}{
		{"plain text", "gzip", text, "the body is declared as gzip, but is not gzip"},
		{"plain text", "deflate", text, "the body is declared as deflate, but cannot be decoded as deflate"},
		{"plain text", "br", text, "the body is declared as br, but cannot be decoded as br"},
		{"plain text", "zstd", text, "the body is declared as zstd, but is not zstd"},
		{"gzip", "br", encoded(t, "gzip", text), "the body is declared as br, but cannot be decoded as br"},
		{"zlib", "gzip", encoded(t, "deflate", text), "the body is declared as gzip, but is not gzip"},
		{"cut", "gzip", cut("gzip"), "the compressed body is truncated (gzip)"},
		{"cut", "deflate", cut("deflate"), "the compressed body is truncated (deflate)"},
		{"cut, raw", "deflate", cut("raw deflate"), "the compressed body is truncated (deflate)"},
		{"cut", "br", cut("br"), "the compressed body is truncated (br)"},
		{"cut", "zstd", cut("zstd"), "the compressed body is truncated (zstd)"},
		{"another length", "gzip", damaged("gzip", -1), "the compressed body is damaged (gzip: invalid checksum)"},
		{"another checksum", "deflate", damaged("deflate", -1), "the compressed body is damaged (zlib: invalid checksum)"},
		{"another checksum", "zstd", damaged("zstd", -1), "the compressed body is damaged ("},
		{"damaged data", "gzip", damaged("gzip", 12), "the compressed body is damaged ("},
	} {
		_, err := Decode(c.body, []string{c.coding}, 1<<20)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s as %s: got %v, want %s", c.name, c.coding, err, c.want)
		}
	}
}

// Bytes after the end of the data are ignored, and Trailing reports them.
func TestTrailingBytesAreIgnoredAndReported(t *testing.T) {
	const text = "some text"
	for _, coding := range []string{"gzip", "zstd"} {
		body := encoded(t, coding, []byte(text))
		for tail, want := range map[string]string{"": "", "tail": coding, "a longer tail": coding, string(body): ""} {
			r := NewReader(strings.NewReader(string(body)+tail), []string{coding})
			got, err := io.ReadAll(r)
			if err != nil || !strings.HasPrefix(string(got), text) || Trailing(r) != want {
				t.Errorf("%s, %q: got %q, %v, trailing %q", coding, tail, got, err, Trailing(r))
			}
		}
	}
	r := NewReader(strings.NewReader(string(encoded(t, "gzip", []byte(text)))+"x"), []string{"gzip"})
	if got, err := io.ReadAll(r); err != nil || string(got) != text || Trailing(r) != "gzip" {
		t.Errorf("one byte: got %q, %v", got, err)
	}
}
