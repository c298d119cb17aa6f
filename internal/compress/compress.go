// Package compress decodes the content codings of HTTP: gzip, deflate, br and zstd (RFC 9110,
// section 8.4; RFC 7932; RFC 9659).
package compress

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxCodings bounds the codings of one body.
	maxCodings = 4
	// maxWindow is the largest window that zstd may have as a content coding, in bytes (RFC 9659,
	// section 3).
	maxWindow = 8 << 20
	// freeSize is the size in bytes that any body may grow to. maxRatio bounds the growth of larger
	// bodies: their size divided by the compressed size. gzip reaches 1,032.
	freeSize = 64 << 20
	maxRatio = 2000
	// maxDrained bounds the bytes that are read after the end of the data, so that the connection can
	// be used again.
	maxDrained = 64 << 10
)

// An UnknownError is the error of an unsupported coding.
type UnknownError struct{ Coding string }

func (e *UnknownError) Error() string { return "the content coding " + e.Coding + " is not supported" }

// A DamagedError is the error of bytes that cannot be decoded as Coding, or that end too early.
type DamagedError struct {
	Coding string
	Err    error
	// HasSignature is set if the body begins with the signature of the coding.
	HasSignature bool
}

func (e *DamagedError) Error() string {
	if errors.Is(e.Err, io.ErrUnexpectedEOF) {
		return "the compressed body is truncated (" + e.Coding + ")"
	}
	if e.HasSignature {
		return "the compressed body is damaged (" + e.Err.Error() + ")"
	}
	if e.Coding == "gzip" || e.Coding == "zstd" { // both begin with a signature
		return "the body is declared as " + e.Coding + ", but is not " + e.Coding
	}
	return "the body is declared as " + e.Coding + ", but cannot be decoded as " + e.Coding
}

func (e *DamagedError) Unwrap() error { return e.Err }

// A GrowsError is the error of a body that grows too much.
type GrowsError struct{ Coding string }

func (e *GrowsError) Error() string {
	return fmt.Sprintf("the compressed body grows to more than %d times its size (%s)", maxRatio, e.Coding)
}

// IsUnreadable reports whether an error is about the coding of a body, not about its source.
func IsUnreadable(err error) bool {
	_, unknown := errors.AsType[*UnknownError](err)
	_, damaged := errors.AsType[*DamagedError](err)
	_, grows := errors.AsType[*GrowsError](err)
	return unknown || damaged || grows
}

// Codings returns the content codings that a header declares, in the order they were applied in and
// without identity, in lower case. It returns nil if the header declares no coding.
func Codings(h http.Header) []string { return Split(strings.Join(h.Values("Content-Encoding"), ",")) }

// Split returns the codings in the value of a Content-Encoding field, as Codings does.
func Split(field string) []string {
	var codings []string
	for name := range strings.SplitSeq(field, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		switch name {
		case "", "identity":
		case "x-gzip":
			codings = append(codings, "gzip")
		default:
			codings = append(codings, name)
		}
	}
	return codings
}

// Check returns an UnknownError if NewReader cannot decode all codings, else nil.
func Check(codings []string) error {
	for _, name := range codings {
		if decoders[name] == nil {
			return &UnknownError{name}
		}
	}
	if len(codings) > maxCodings {
		return &UnknownError{strings.Join(codings, ", ")}
	}
	return nil
}

// NewReader returns a reader that decodes src, or src itself if it has no codings. It reads nothing
// until its first Read, and returns flushed data as soon as src has it. An empty body stays empty.
// The reader returns an error of src unchanged. It fails with a GrowsError if the body grows too
// much, and with an UnknownError if Check fails.
func NewReader(src io.Reader, codings []string) io.Reader {
	if err := Check(codings); err != nil {
		return failingReader{err}
	}
	for i := len(codings) - 1; i >= 0; i-- {
		src = &reader{src: source{r: src}, coding: codings[i]}
	}
	return src
}

// Decode decodes a body and returns at most limit+1 bytes of it. With an error it returns the bytes
// that could be decoded. It returns body itself if there are no codings.
func Decode(body []byte, codings []string, limit int) ([]byte, error) {
	if len(codings) == 0 {
		return body, nil
	}
	return io.ReadAll(io.LimitReader(NewReader(bytes.NewReader(body), codings), int64(limit)+1))
}

// Trailing returns the coding whose data ended before the body, or "". r was returned by NewReader
// and read to its end. The bytes after the data are ignored, as in browsers.
func Trailing(r io.Reader) string {
	for decoder, ok := r.(*reader); ok; decoder, ok = decoder.src.r.(*reader) {
		if decoder.trailing {
			return decoder.coding
		}
	}
	return ""
}

// A failingReader returns its error from each Read.
type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// decoders start decoders by coding. A decoder may read the beginning of the body, which has at
// least one byte.
var decoders = map[string]func(*bufio.Reader) (io.Reader, error){
	"gzip": newGzipReader,
	"br":   func(src *bufio.Reader) (io.Reader, error) { return brotli.NewReader(src), nil },
	"zstd": func(src *bufio.Reader) (io.Reader, error) {
		return zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
	},
	"deflate": inflate,
}

// inflate returns a decoder of deflate. Some servers send it without the zlib header (RFC 9110,
// section 8.4.1.2).
func inflate(src *bufio.Reader) (io.Reader, error) {
	head, err := src.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		decoder, err := zlib.NewReader(src)
		return zlibReader{decoder}, err
	}
	return flate.NewReader(src), nil
}

// A zlibReader decodes deflate with a valid zlib header.
type zlibReader struct{ io.Reader }

// A gzipReader decodes the members of a gzip body.
type gzipReader struct {
	src    *bufio.Reader
	member *gzip.Reader
}

// errTrailing is the error of other bytes after the data.
var errTrailing = errors.New("other bytes follow the compressed data")

// newGzipReader returns a decoder of gzip. It reads the first header.
func newGzipReader(src *bufio.Reader) (io.Reader, error) {
	member, err := gzip.NewReader(src)
	if err != nil {
		return nil, err
	}
	member.Multistream(false)
	return &gzipReader{src, member}, nil
}

// Read decodes the members one after the other. It returns errTrailing if other bytes follow a
// member.
func (g *gzipReader) Read(to []byte) (int, error) {
	n, err := g.member.Read(to)
	if err != io.EOF {
		return n, err
	}
	head, peekErr := g.src.Peek(2)
	if len(head) == 0 { // the last member has ended: io.EOF
		return n, peekErr
	}
	if head[0] != 0x1f || len(head) == 2 && head[1] != 0x8b { // not the signature of gzip
		return n, errTrailing
	}
	err = g.member.Reset(g.src)
	g.member.Multistream(false)
	return n, err
}

// A reader decodes one coding.
type reader struct {
	src     source
	coding  string
	decoder io.Reader
	// produced is the number of decoded bytes.
	produced int64
	err      error
	// trailing is set if other bytes follow the data.
	trailing bool
}

// Read decodes bytes. After an error, each Read returns that error again. The error is a GrowsError
// once the body has grown too much: it may be made to fill the memory.
func (r *reader) Read(to []byte) (int, error) {
	if r.err != nil || len(to) == 0 {
		return 0, r.err
	}
	n := 0
	var err error
	if r.decoder == nil {
		err = r.startDecoder()
	}
	for err == nil && n == 0 {
		n, err = r.decoder.Read(to)
	}
	r.produced += int64(n)
	growsTooMuch := r.produced > freeSize && r.produced/maxRatio > r.src.read
	if err == nil && growsTooMuch {
		err = &GrowsError{r.coding}
	}
	r.err = r.classifyError(err)
	return n, r.err
}

// startDecoder creates the decoder. It returns io.EOF for an empty body.
func (r *reader) startDecoder() error {
	src := bufio.NewReader(&r.src)
	if _, err := src.Peek(1); err != nil {
		return err
	}
	decoder, err := decoders[r.coding](src)
	r.decoder = decoder
	return err
}

// classifyError returns the error of the source if the source failed, io.EOF at the end of the
// data, nil and a GrowsError unchanged, and a DamagedError for other errors. It drains the source
// at the end of the data.
func (r *reader) classifyError(err error) error {
	if _, grows := errors.AsType[*GrowsError](err); err == nil || grows {
		return err
	}
	if r.src.err != nil && r.src.err != io.EOF {
		return r.src.err
	}
	isNoFrame := errors.Is(err, zstd.ErrMagicMismatch) && r.produced > 0 // after the first zstd frame
	if isNoFrame || errors.Is(err, errTrailing) {
		r.trailing = true
		err = io.EOF
	}
	if err == io.EOF {
		_, _ = io.CopyN(io.Discard, &r.src, maxDrained)
		return io.EOF
	}
	return &DamagedError{r.coding, err, r.hasBegun(err)}
}

// hasBegun reports whether the body began with the signature of its coding. err is the error of the
// decoder.
func (r *reader) hasBegun(err error) bool {
	switch r.decoder.(type) {
	case *gzipReader, zlibReader:
		return true
	}
	return r.coding == "zstd" && !errors.Is(err, zstd.ErrMagicMismatch)
}

// A source counts the bytes that are read from r, and keeps its error.
type source struct {
	r    io.Reader
	read int64
	err  error
}

func (s *source) Read(to []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(to)
	s.read += int64(n)
	s.err = err
	return n, err
}
