package cmdutil

import (
	"fmt"

	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/redact"
)

// HeldWord describes the kept server process, the process that keeps it, and when it stops;
// "" where it is not kept.
func HeldWord(c *connect.Conn) string {
	f, ok := c.Held()
	if !ok {
		return ""
	}
	until := "stops with mcpc close"
	if f.Idle > 0 {
		until = "stops after " + client.Short(f.Idle) + " idle"
	}
	return fmt.Sprintf("server process %d, kept by process %d since %s, %s", f.Server, f.PID, f.Since.Format("15:04:05"), until)
}

var TransportWords = map[client.TransportName]string{
	client.StreamableHTTP: "Streamable HTTP", client.HTTPSSE: "HTTP+SSE (deprecated)", client.Stdio: "stdio",
}

// SessionWord says whether the server keeps a session, and never which.
func SessionWord(c *connect.Conn) string {
	switch id := c.Memory().SessionID; {
	case id != "":
		return ", session " + redact.Redacted(id)
	case client.Stateless(c.Revision()):
		return ", stateless"
	case c.Transport() == client.Stdio:
		return ""
	}
	return ", no session id"
}
