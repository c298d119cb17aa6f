package probe

import (
	"context"
	"errors"
	"time"

	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// Limit returns a context that ends after the user's --max-time for the whole check; 0 is no limit.
func Limit(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit,
		transport.TimeoutError{Flag: "--max-time", What: "the check did not end", After: limit})
}

// Ended returns the outcome of a check whose context ended: by its time limit, or by a signal.
func Ended(cause error) wire.Outcome {
	limit, timedOut := errors.AsType[transport.TimeoutError](cause)
	if !timedOut {
		return wire.Outcome{Kind: wire.Signal, Phase: "result", Text: "interrupted", Err: cause}
	}
	return wire.Outcome{
		Kind: wire.Timeout, Reached: wire.Answered, Phase: "result", Err: cause,
		Text: limit.Error() + ": the report has the findings so far",
		Hint: wire.Hint(limit.Flag + " TIME waits longer"),
	}
}
