package connect

import (
	"context"
	"errors"

	"mcpc/internal/connect/host"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// TryState returns a failure if the state directory cannot be written.
func TryState(ctx context.Context, e *host.Env) wire.Outcome {
	store, err := state.Open(e.State)
	if err == nil {
		err = store.Try(ctx)
	}
	if err != nil {
		return StateFailed(err)
	}
	return wire.Outcome{}
}

// StateFailed returns the outcome of a command that needs the state directory and got err.
func StateFailed(err error) wire.Outcome {
	o := wire.Outcome{Kind: wire.LocalIO, Phase: "state", Text: err.Error(), Err: err}
	if with, ok := errors.AsType[*state.Error](err); ok {
		o.Hint = with.Hint()
	}
	return o
}
