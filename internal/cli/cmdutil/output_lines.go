package cmdutil

import (
	"context"
	"encoding/json"

	"mcpc/internal/render"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// PrintLine writes one JSON document of a stream, on a line or through --jq.
func PrintLine(ctx context.Context, f *Factory, raw json.RawMessage) error {
	return LineError(f, TryLine(ctx, f, raw))
}

// TryLine is PrintLine for callers that go on after an error of the --jq expression.
func TryLine(ctx context.Context, f *Factory, raw json.RawMessage) error {
	if f.Jq != "" {
		return applyJQ(ctx, f, f.Stdout(), f.OutStyle, Document(raw, nil))
	}
	return render.JSONLine(f.Stdout(), f.OutStyle, raw)
}

// LineError returns the error of a command whose line could not be printed.
func LineError(f *Factory, err error) error {
	switch {
	case err == nil || StdoutError(f) != nil:
		return StdoutError(f)
	case IsStopped(err):
		return Exit(Afterwards(f, wire.Outcome{Kind: wire.Signal, Text: "interrupted"}))
	case IsUsage(err):
		return Exit(usage.Outcome(err))
	}
	return Unwritten(f, "writing the result", err)
}
