package term

import (
	"bytes"
	"io"

	"mcpc/internal/spool"
)

// WriteLine writes one line, whose end may stand already, in one call.
func WriteLine(w io.Writer, line []byte) error {
	return WriteText(w, bytes.TrimRight(line, "\r\n"))
}

// WriteText writes text and, where it does not end in one, a line end.
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

// maxJoined is the length up to which a line and its end are joined to be written
// at once. A large text is not copied for one byte.
const maxJoined = 64 << 10
