package proxy

import (
	"io"

	"mcpc/internal/wire"
)

// Messages is for a caller that forwards what crosses in one direction between a client and
// a server on stdio: what is written to it is looked at, line by line. It never fails;
// Close tells that the stream has ended. What a server writes and is not a message is noise.
func (w *Watcher) Messages(dir wire.Direction) io.WriteCloser {
	return w.lines(func(line []byte) wire.Frame {
		if dir == wire.Received && wire.ParseMessage(line).Kind == wire.Invalid {
			return wire.Frame{Dir: dir, Kind: wire.Noise, Raw: line}
		}
		return wire.Frame{Dir: dir, Kind: wire.Body, Raw: line}
	})
}

// Stderr is the same for the standard error of the server.
func (w *Watcher) Stderr() io.WriteCloser {
	return w.lines(func(line []byte) wire.Frame {
		return wire.Frame{Dir: wire.Received, Kind: wire.Stderr, Raw: line}
	})
}

// Closed tells how the conversation came to its end.
func (w *Watcher) Closed(by wire.Direction, how, text string) {
	w.do(func() {
		w.frame(wire.Frame{Dir: by, Kind: wire.Closed, Close: &wire.CloseFacts{By: by, How: how, Text: text}})
	})
}

func (w *Watcher) lines(frame func(line []byte) wire.Frame) io.WriteCloser {
	s := &halfStream{w: w}
	s.read = func(src io.Reader, fragment bool) {
		s.eachLine(src, fragment, func(line []byte) { w.frame(frame(line)) })
	}
	return streamWriter{s}
}

type streamWriter struct{ *halfStream }

func (w streamWriter) Write(b []byte) (int, error) {
	w.write(b)
	return len(b), nil
}

func (w streamWriter) Close() error {
	w.end()
	return nil
}
