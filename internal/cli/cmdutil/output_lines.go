package cmdutil

import (
	"context"
	"encoding/json"

	"mcpc/internal/render"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// PrintLine writes one JSON document of a stream, on a line or through --jq.
func PrintLine(ctx context.Context, a *Factory, raw json.RawMessage) {
	EndsLine(a, TryLine(ctx, a, raw))
}

// TryLine is PrintLine for callers that go on after an error of the --jq expression.
func TryLine(ctx context.Context, a *Factory, raw json.RawMessage) error {
	if a.Jq != "" {
		return filter(ctx, a, a.Stdout(), a.OutStyle, Document(raw, nil))
	}
	return render.JSONLine(a.Stdout(), a.OutStyle, raw)
}

// EndsLine ends the command where a line could not be printed.
func EndsLine(a *Factory, err error) {
	switch {
	case err == nil || a.Ending.Kind != wire.OK:
	case IsStopped(err):
		a.End(Afterwards(a, wire.Outcome{Kind: wire.Signal, Text: "interrupted"}))
	case IsUsage(err):
		a.End(usage.Outcome(err))
	default:
		a.End(Unwritten(a, err))
	}
}
