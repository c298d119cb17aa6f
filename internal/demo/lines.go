package demo

import (
	"bufio"
	"bytes"
	"io"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// lineReader is an input of lines for the SDK. It responds to invalid lines itself, because the SDK
// would stop at the first one.
type lineReader struct {
	lines *bufio.Reader
	in    io.Closer
	out   io.Writer
	// unread is the unread part of a line. err is returned after it.
	unread []byte
	err    error
}

// Read returns the bytes of valid lines. It answers each invalid line with a JSON-RPC error and
// skips it.
func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.unread) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		var line []byte
		line, r.err = r.lines.ReadBytes('\n')
		text := bytes.TrimSpace(line)
		if len(text) == 0 {
			continue
		}
		if jsonraw.Valid(text) != nil {
			r.writeLine(wire.ComposeError(nil, -32700, "Parse error"))
			continue
		}
		m := wire.ParseMessage(text)
		if m.Kind == wire.Invalid || m.HasOtherVersion {
			r.writeLine(wire.ComposeError(m.ID, -32600, "Invalid Request"))
			continue
		}
		r.unread = line
	}
	n := copy(p, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}

func (r *lineReader) Close() error { return r.in.Close() }

func (r *lineReader) writeLine(raw []byte) { _, _ = r.out.Write(append(raw, '\n')) }

// lockedWriter is a writer that may be used by several goroutines.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
