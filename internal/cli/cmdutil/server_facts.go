package cmdutil

import (
	"fmt"
	"io"

	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/english"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/target"
)

// ShowServer shows what has to be confirmed of a server.
func (f *Factory) ShowServer(headline string, s target.Server) {
	fmt.Fprintln(f.Stderr(), f.ErrStyle.WrapLine(headline))
	_ = f.WriteServer(f.Stderr(), f.ErrStyle, s)
}

// WriteServer shows all that is confirmed: the command word for word, the names of
// variables and header fields, and where it stands. Nothing is cut, and no value that
// may be a secret is among it.
func (f *Factory) WriteServer(w io.Writer, st term.Style, s target.Server) error {
	return term.Facts(w, st, host.ServerFacts(&f.Env, s))
}

// HeldWord describes the kept server process, the process that keeps it, and when it stops;
// "" where it is not kept.
func HeldWord(c *connect.Conn) string {
	f, ok := c.Keepalive()
	if !ok {
		return ""
	}
	until := "stops with mcpc close"
	if f.Idle > 0 {
		until = "stops after " + english.Duration(f.Idle) + " idle"
	}
	return fmt.Sprintf(
		"server process %d, kept by process %d since %s, %s",
		f.Server,
		f.PID,
		f.Since.Format("15:04:05"),
		until,
	)
}

var TransportWords = map[transport.Name]string{
	transport.StreamableHTTP: "Streamable HTTP", transport.HTTPSSE: "HTTP+SSE (deprecated)", transport.Stdio: "stdio",
}

// SessionWord says whether the server keeps a session, and never which.
func SessionWord(c *connect.Conn) string {
	switch id := c.Memory().SessionID; {
	case id != "":
		return ", session " + redact.Redacted(id)
	case client.Stateless(c.Revision()):
		return ", stateless"
	case c.Transport() == transport.Stdio:
		return ""
	}
	return ", no session id"
}
