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

// ShowServer prints a headline and what the user has to confirm about a server.
func (f *Factory) ShowServer(headline string, s target.Server) {
	fmt.Fprintln(f.Stderr(), f.ErrStyle.WrapLine(headline))
	_ = f.WriteServer(f.Stderr(), f.ErrStyle, s)
}

// WriteServer writes what the user confirms about a server: the full command, the names of
// variables and header fields, and the configuration file. It cuts nothing and shows no value that
// may be secret.
func (f *Factory) WriteServer(w io.Writer, st term.Style, s target.Server) error {
	return term.Facts(w, st, host.ServerFacts(&f.Env, s))
}

// KeepaliveText describes a kept server process, the process that keeps it, and when it stops.
// Returns "" if the server is not kept.
func KeepaliveText(c *connect.Conn) string {
	facts, isKept := c.Keepalive()
	if !isKept {
		return ""
	}
	stop := "stops with mcpc close"
	if facts.Idle > 0 {
		stop = "stops after " + english.Duration(facts.Idle) + " idle"
	}
	return fmt.Sprintf(
		"server process %d, kept by process %d since %s, %s",
		facts.Server,
		facts.PID,
		facts.Since.Format("15:04:05"),
		stop,
	)
}

// TransportNames are the names of transports for people.
var TransportNames = map[transport.Name]string{
	transport.StreamableHTTP: "Streamable HTTP", transport.HTTPSSE: "HTTP+SSE (deprecated)", transport.Stdio: "stdio",
}

// SessionText describes whether the server keeps a session, without its id: a suffix such as ",
// stateless". It returns "" over stdio, where the process is the session.
func SessionText(c *connect.Conn) string {
	id := c.Memory().SessionID
	if id != "" {
		return ", session " + redact.Redacted(id)
	}
	if client.Stateless(c.Revision()) {
		return ", stateless (no session id)"
	}
	if c.Transport() == transport.Stdio {
		return ""
	}
	return ", no session id"
}
