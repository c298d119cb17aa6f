package cmdutil

import (
	"context"
	"encoding/json"

	"mcpc/internal/render"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// PrintLine writes one JSON document of a stream, on a line or through --jq.
func PrintLine(ctx context.Context, a *Factory, raw json.RawMessage) error {
	return LineError(a, TryLine(ctx, a, raw))
}

// TryLine is PrintLine for callers that go on after an error of the --jq expression.
func TryLine(ctx context.Context, a *Factory, raw json.RawMessage) error {
	if a.Jq != "" {
		return applyJQ(ctx, a, a.Stdout(), a.OutStyle, Document(raw, nil))
	}
	return render.JSONLine(a.Stdout(), a.OutStyle, raw)
}

// LineError returns the error of a command whose line could not be printed.
func LineError(a *Factory, err error) error {
	switch {
	case err == nil || Lost(a) != nil:
		return Lost(a)
	case IsStopped(err):
		return Exit(Afterwards(a, wire.Outcome{Kind: wire.Signal, Text: "interrupted"}))
	case IsUsage(err):
		return Exit(usage.Outcome(err))
	}
	return Unwritten(a, "writing the result", err)
}
