package term

import (
	"bytes"
	"io"

	"mcpc/internal/spool"
)

// WriteLine writes one line in a single call. It replaces line ends at the end of line by one.
func WriteLine(w io.Writer, line []byte) error {
	return WriteText(w, bytes.TrimRight(line, "\r\n"))
}

// WriteText writes text, and a line end if text does not end in one.
func WriteText(w io.Writer, text []byte) error {
	if len(text) > maxJoined {
		if _, err := spool.WriteAll(w, text); err != nil || bytes.HasSuffix(text, []byte("\n")) {
			return err
		}
		text = nil
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text[:len(text):len(text)], '\n')
	}
	_, err := w.Write(text)
	return err
}

// maxJoined is the longest text that is copied so that it and its line end are written at once.
const maxJoined = 64 << 10
