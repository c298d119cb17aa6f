package demo

import (
	"bufio"
	"bytes"
	"io"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// readable is an input of lines for the SDK. It responds to invalid lines itself, because the SDK
// would stop at the first one.
type readable struct {
	lines *bufio.Reader
	in    io.Closer
	out   io.Writer
	// rest is the unread part of a line. err is returned after it.
	rest []byte
	err  error
}

func (r *readable) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		var line []byte
		line, r.err = r.lines.ReadBytes('\n')
		text := bytes.TrimSpace(line)
		switch {
		case len(text) == 0:
		case jsonraw.Valid(text) != nil:
			r.answer(wire.ComposeError(nil, -32700, "Parse error"))
		default:
			if m := wire.ParseMessage(text); m.Kind == wire.Invalid || m.HasOtherVersion {
				r.answer(wire.ComposeError(m.ID, -32600, "Invalid Request"))
				continue
			}
			r.rest = line
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *readable) Close() error { return r.in.Close() }

func (r *readable) answer(raw []byte) { _, _ = r.out.Write(append(raw, '\n')) }

// whole is a writer that may be used by several goroutines.
type whole struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *whole) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
