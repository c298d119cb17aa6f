package render

import (
	"context"
	"os"

	"golang.org/x/term"
)

// ReadHidden reads a line from a terminal that does not show what is typed. Where ctx
// ends first the terminal is as it was before, and the error is why.
func ReadHidden(ctx context.Context, f *os.File) (string, error) {
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		return string(l.text), l.err
	case <-ctx.Done():
		_ = term.Restore(fd, before)
		return "", context.Cause(ctx)
	}
}
