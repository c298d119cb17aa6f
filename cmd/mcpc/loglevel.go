package main

import (
	"context"

	"mcpc/internal/client"
	"mcpc/internal/wire"
)

// logLevels are those of server/utilities/logging, lightest first.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// setLogLevel asks for log messages where that is a request of its own; where
// requests stand alone each one carries the level, and a server that logs nothing
// says nothing of it.
func (c *conversation) setLogLevel(ctx context.Context) {
	if c.a.logLevel == "" {
		return
	}
	if client.Stateless(c.Revision()) {
		if declared, known := c.declares("logging"); known && !declared {
			c.a.ui.warn("the server does not declare logging, so --log-level may have no effect")
		}
		return
	}
	out := c.Do(ctx, client.Call{Method: "logging/setLevel", Params: wire.With(nil, "level", wire.Quote(c.a.logLevel))})
	if !out.Good() {
		c.a.ui.warn("the log level could not be set: " + out.Text)
		return
	}
	c.undeclared(out, "logging")
}
