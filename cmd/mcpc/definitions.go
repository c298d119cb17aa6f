package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// A definition is a tool as the server described it, and whether that was in
// this run.
type definition struct {
	wire.Tool
	fresh bool
}

// tools lists all tools of the server. What cannot be called is left out, with
// a word of why. The list is remembered with the session.
func (c *conversation) tools(ctx context.Context) ([]wire.Tool, client.List, wire.Outcome) {
	return c.toolsUntil(ctx, nil)
}

// toolsUntil stops asking for pages once enough says so.
func (c *conversation) toolsUntil(ctx context.Context, enough func([]json.RawMessage) bool) ([]wire.Tool, client.List, wire.Outcome) {
	list, o := c.ListUntil(ctx, "tools/list", enough)
	for _, f := range list.Findings {
		c.found(f)
	}
	tools := c.usable(list.Items)
	if o.Good() && list.Whole {
		c.keepTools(ctx, list)
	}
	return tools, list, o
}

func (c *conversation) usable(items []json.RawMessage) []wire.Tool {
	var tools []wire.Tool
	for i, raw := range items {
		tool, bad := wire.ParseTool(raw)
		if bad != nil {
			c.a.warn(fmt.Sprintf("entry %d of tools/list is left out: %s", i, bad.Text))
			continue
		}
		if problem := c.headerProblem(tool); problem != "" {
			c.a.warn(fmt.Sprintf("the tool %q is left out: %s", tool.Name, problem))
			continue
		}
		tools = append(tools, tool)
	}
	return tools
}

// headerProblem: only by HTTP, and only where requests stand alone, do broken
// x-mcp-header annotations make a tool unusable.
func (c *conversation) headerProblem(tool wire.Tool) string {
	if c.Transport() != client.StreamableHTTP || !client.Stateless(c.Revision()) {
		return ""
	}
	return client.HeaderProblem(tool.InputSchema)
}

func (c *conversation) keepTools(ctx context.Context, list client.List) {
	if c.saved == nil {
		return
	}
	kept := state.ToolList{FetchedAt: c.a.now(), TTLms: list.TTL}
	for _, raw := range list.Items {
		if tool, bad := wire.ParseTool(raw); bad == nil {
			kept.Tools = append(kept.Tools, state.Tool{Name: tool.Name, Raw: raw})
		}
	}
	if err := c.store.SaveTools(ctx, c.saved.Key, kept); err != nil && c.a.verbose > 0 {
		c.a.warn("the tool list could not be remembered: " + err.Error())
	}
}

func (c *conversation) forgetTools() {
	if c.saved != nil {
		_ = c.store.DropTools(c.saved.Key)
	}
}

// remembered gives the definition that an earlier run kept. It is used to check
// arguments before they are sent and for the header fields, also when the
// server's ttlMs has run out: a call that the definition allows is sent, and the
// server judges it anew; one that it forbids is judged by a fresh list. Nobody
// is ever shown it.
func (c *conversation) remembered(name string) *definition {
	if c.saved == nil {
		return nil
	}
	kept, list, err := c.store.Tool(c.saved.Key, name)
	if err != nil || kept == nil || c.a.now().Sub(list.FetchedAt) > rememberFor {
		return nil
	}
	tool, bad := wire.ParseTool(kept.Raw)
	if bad != nil {
		return nil
	}
	return &definition{Tool: tool}
}

// define gets a tool's definition from the server. That there is no such tool
// in a fresh list is an ending of its own: nothing has to be sent to know it. A
// list that will be remembered is fetched whole; else the page with the tool is
// enough.
func (c *conversation) define(ctx context.Context, name string) (*definition, wire.Outcome) {
	var enough func([]json.RawMessage) bool
	if c.saved == nil {
		enough = func(items []json.RawMessage) bool { return lists(items, name) }
	}
	tools, _, o := c.toolsUntil(ctx, enough)
	if !o.Good() {
		return nil, o
	}
	var found []wire.Tool
	for _, tool := range tools {
		if tool.Name == name {
			found = append(found, tool)
		}
	}
	switch len(found) {
	case 0:
		return nil, c.noSuchTool(name, tools)
	case 1:
		return &definition{Tool: found[0], fresh: true}, wire.Outcome{}
	}
	return nil, c.refusedCall(name, fmt.Sprintf("the server lists %d tools called %q", len(found), name), "")
}

func lists(items []json.RawMessage, name string) bool {
	for _, raw := range items {
		if tool, bad := wire.ParseTool(raw); bad == nil && tool.Name == name {
			return true
		}
	}
	return false
}

func (c *conversation) noSuchTool(name string, tools []wire.Tool) wire.Outcome {
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	hint := "mcpc list shows the server's tools"
	if near := render.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	} else if len(names) == 0 {
		hint = "the server lists no tools"
	} else if len(names) <= 8 {
		slices.Sort(names)
		hint = "there are: " + joinLines(names)
	}
	return c.refusedCall(name, fmt.Sprintf("the server has no tool %q", name), hint)
}

// refusedCall is a call that was not sent because of what the list says.
func (c *conversation) refusedCall(name, text, hint string) wire.Outcome {
	return wire.Outcome{Kind: wire.InvalidArguments, Method: "tools/call", Name: name, Where: c.where,
		Phase: "arguments", Text: text, Hint: hint}
}

func joinLines(names []string) string {
	out := ""
	for i, name := range names {
		if i > 0 {
			out += ", "
		}
		out += render.Line(name)
	}
	return out
}
