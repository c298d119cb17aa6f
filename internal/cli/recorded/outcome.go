package recorded

import (
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/exchange"
	"mcpc/internal/saved"
	"mcpc/internal/wire"
)

// Unchecked reports whether a step has to be taken without a check, so that the same
// sent again: it was sent unchecked, or a check would not let it through. What another client sent with success is
// checked, as a user would write it.
func (g Request) Unchecked(s saved.Step) bool {
	failed := s.Expect.Kind == wire.ToolError || s.Expect.Kind == wire.RPCFailed
	switch s.Verb {
	case saved.Call:
		unchecked := g.Row.By == capture.ByCommand && !g.Had("run")
		return g.Had("--no-validate") || !g.Had("call") && (unchecked || failed)
	case saved.Prompt:
		return g.Had("--no-validate") || failed
	}
	return false
}

// Kind is the ending of the request; not ok where it has none that a step may expect.
// A command that judges ends in another way than its last request.
func (g Request) Kind() (kind wire.Kind, ok bool) {
	kind = wire.Kind(g.Row.Channel)
	answer := wire.ParseMessage(g.Exchange.Response.Raw)
	switch {
	case slices.Contains(SavedEndings, kind):
		return kind, true
	case answer.Error != nil:
		return wire.RPCFailed, true
	case kind == wire.CheckFailed && wire.IsToolError(answer.Result):
		return wire.ToolError, true
	}
	return wire.OK, answer.Result != nil || g.Row.Channel == exchange.ChannelOK
}
