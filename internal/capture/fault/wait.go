package fault

import (
	"context"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// Wait waits for a while, or until ctx is done, whose cause it returns then.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// metaRevision reports a request that names its revision itself.
func metaRevision(m *wire.Message) bool {
	return jsonraw.First(jsonraw.First(m.Params, "_meta"), "io.modelcontextprotocol/protocolVersion") != nil
}
