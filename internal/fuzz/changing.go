package fuzz

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"mcpc/internal/jsonraw"
)

// maxObservers is the number of tools with answers that show changes.
const maxObservers = 3

// An observer is a tool that answers the same call twice the same way. Another answer later shows
// that something was changed.
type observer struct {
	tool   string
	args   json.RawMessage
	answer Answer
}

// findChanging calls each tool that is marked as read-only once. It reports the tools after which the
// lists of the server or the answers of other tools differ, and excludes them, and the tools
// without a clear answer. It needs about five calls for each tool, and does nothing if the budget
// is too small for that.
func (r *run) findChanging(ctx context.Context, tools []Tool) {
	r.limit = r.Budget
	bases := map[string]json.RawMessage{}
	for _, tool := range tools {
		if check, _, err := r.Compile(tool.InputSchema); tool.Reads && err == nil {
			if base, ok := validBase(tool, check); ok {
				bases[tool.Name] = base
			}
		}
	}
	const callsForEach = maxObservers + 2
	if len(bases)*callsForEach > r.Budget/2 {
		return
	}
	observers := r.findObservers(ctx, tools, bases)
	for _, tool := range tools {
		base := bases[tool.Name]
		if base == nil || r.isStopped(ctx) {
			continue
		}
		lists := r.lists(ctx)
		answer := r.call(ctx, tool.Name, base)
		if answer.Class == Unclear {
			r.excluded[tool.Name] = "the first call has no clear answer: " + answer.Summary
			continue
		}
		what := ""
		after := r.lists(ctx)
		if lists != nil && after != nil && !slices.EqualFunc(lists, after, equalJSON) {
			what = "a list of the server is different afterwards"
		}
		changed := r.observe(ctx, observers, tool.Name)
		if changed != "" && r.observe(ctx, observers, tool.Name) == "" { // else it changes without the tool
			what = changed
		}
		if what == "" {
			continue
		}
		r.excluded[tool.Name] = "it changes something although it is marked as read-only: --fuzz-unsafe " +
			tool.Name + " tests it"
		answer.Summary = what
		r.report.Failures = append(r.report.Failures, Failure{
			Rule: RuleChanges, Tool: tool.Name, Args: base, Answer: answer, IsValid: true, Want: wantNoChange,
		})
	}
}

// observe calls the observers other than the tool called except, and describes the first answer that
// differs from the one before; "" if none does.
func (r *run) observe(ctx context.Context, observers []observer, except string) string {
	what := ""
	for i := range observers {
		o := &observers[i]
		if o.tool == except || r.isStopped(ctx) {
			continue
		}
		now := r.call(ctx, o.tool, o.args)
		if what == "" && now.Class == Success && !areEquivalent(o.answer, now) {
			what = "the answer of " + o.tool + " is different afterwards: " + now.Summary
		}
		o.answer = now
	}
	return what
}

// findObservers returns up to maxObservers tools that answer the same call twice the same way.
func (r *run) findObservers(ctx context.Context, tools []Tool, bases map[string]json.RawMessage) []observer {
	var observers []observer
	for _, tool := range tools {
		base := bases[tool.Name]
		if base == nil || len(observers) == maxObservers || r.isStopped(ctx) {
			continue
		}
		first := r.call(ctx, tool.Name, base)
		if first.Class != Success {
			continue
		}
		second := r.call(ctx, tool.Name, base)
		if areEquivalent(first, second) {
			observers = append(observers, observer{tool.Name, base, second})
		}
	}
	return observers
}

// lists returns the lists of the server, nil if they cannot be compared.
func (r *run) lists(ctx context.Context) []json.RawMessage {
	if r.Lists == nil || r.isStopped(ctx) {
		return nil
	}
	return r.Lists(ctx)
}

// equalJSON reports whether two values are equal, apart from the order of members.
func equalJSON(a, b json.RawMessage) bool {
	return bytes.Equal(jsonraw.Canonical(a), jsonraw.Canonical(b))
}
