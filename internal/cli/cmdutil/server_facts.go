package cmdutil

import (
	"fmt"
	"io"

	"mcpc/internal/connect/host"
	"mcpc/internal/render/term"
	"mcpc/internal/target"
)

// ShowServer shows what has to be confirmed of a server.
func (f *Factory) ShowServer(headline string, s target.Server) {
	fmt.Fprintln(f.Stderr(), f.ErrStyle.Asked(headline))
	_ = WriteServer(f, f.Stderr(), f.ErrStyle, s)
}

// WriteServer shows all that is confirmed: the command word for word, the names of
// variables and header fields, and where it stands. Nothing is cut, and no value that
// may be a secret is among it.
func WriteServer(f *Factory, w io.Writer, st term.Style, s target.Server) error {
	return term.Facts(w, st, host.ServerFacts(&f.Env, s))
}
