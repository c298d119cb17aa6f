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
