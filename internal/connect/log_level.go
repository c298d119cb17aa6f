package connect

import (
	"context"

	"mcpc/internal/client"
	"mcpc/internal/jsonraw"
)

// LogLevels are those of server/utilities/logging, lightest first.
var LogLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// setLogLevel asks for log messages where that is a request of its own; where
// requests stand alone each one carries the level, and a server that logs nothing
// says nothing of it.
func (c *Conn) setLogLevel(ctx context.Context) {
	if c.Env.LogLevel == "" {
		return
	}
	if client.Stateless(c.Revision()) {
		if declared, known := c.Declares("logging"); known && !declared {
			c.Env.UI.Warn("the server does not declare logging, so --log-level may have no effect")
		}
		return
	}
	out := c.Do(ctx, client.Call{Method: "logging/setLevel", Params: jsonraw.With(nil, "level", jsonraw.Quote(c.Env.LogLevel))})
	if !out.Good() {
		c.Env.UI.Warn("the log level could not be set: " + out.Text)
		return
	}
	c.WarnUndeclared(out, "logging")
}
