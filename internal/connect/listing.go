package connect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"mcpc/internal/client"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// A Listing has the lists of one kind or of several.
type Listing struct {
	Lists    []Sorted
	Messages []*wire.Message
	// Shown counts the entries that are shown, Unusable the entries that are omitted.
	Shown, Unusable int
}

// A Sorted is the list of one kind. A list that Take received has only its first page and the
// destinations of its entries in Taking; its Items and Pages are nil.
type Sorted struct {
	Kind
	client.List
	Entries Entries
	First   *wire.Message
	Taking
}

// A Taking says where the entries of a list go whose pages are not kept.
type Taking struct {
	// JSON stores the items as received. It may be nil.
	JSON *Items
	// Rows receives the entries that can be used. It may be nil.
	Rows Rows
}

// Rows receive the entries of a list, page by page.
type Rows interface {
	Take(Entries)
	// Empty drops the entries, because the list starts again.
	Empty()
	// Special returns the tool names that may need a warning: see mcp.Names. It is called after the
	// last Take.
	Special() []string
}

// Add lists kind k and adds its list to l. With reports it omits entries that cannot be used, with a
// warning for each. If several kinds are listed, a kind that the server declares but refuses is left
// out: isOmitted is then true. A failure after the first page adds the pages that were received.
func (l *Listing) Add(ctx context.Context, c *Conn, k Kind, several, reports bool) (out wire.Outcome, isOmitted bool) {
	list, out := c.listWith(ctx, k, c.walkOptions(reports), nil) // nil: all pages
	if several && client.IsUnknownMethod(out) {
		c.warnOmitted(k)
		return out, true
	}
	if len(list.Pages) == 0 { // nothing was received
		return out, false
	}
	s := Sorted{Kind: k, List: list}
	if reports {
		s.Entries = c.SortEntries(k, list)
		l.warn(c, k, s.Entries.leftOut, ToolNames(s.Entries.Tools), out)
		l.Shown += s.Entries.Count()
	} else {
		l.Shown += len(list.Items)
	}
	c.dropCachedTools(k)
	l.Lists = append(l.Lists, s)
	l.Messages = append(l.Messages, list.Pages...)
	return out, false
}

// walkOptions returns the options for a list. If the caller reports each entry that it omits, the
// check of the shape skips these entries, unless --strict rejects the whole list because of them.
func (c *Conn) walkOptions(reportsOmitted bool) client.WalkOptions {
	if !reportsOmitted || c.Env.Strict {
		return client.WalkOptions{}
	}
	return client.WalkOptions{Shape: checkListShape}
}

// FailsAlone reports whether the failure of one list says nothing about the server's other lists,
// because the server responded.
func FailsAlone(o wire.Outcome) bool {
	isHTTPError := o.Kind == wire.Transport && o.HTTP != nil && o.Reached == wire.Answered
	return o.Kind == wire.RPCFailed || o.Kind == wire.BadResponse || isHTTPError
}

// warnOmitted warns that a list is left out.
func (c *Conn) warnOmitted(k Kind) {
	c.Env.UI.Warn(fmt.Sprintf("%s is omitted: the server does not have this method", k.Method))
}

// WriteJSON writes the list as one result, followed by a newline: see client.List.WriteJSON.
func (s Sorted) WriteJSON(w io.Writer) error {
	items, err := s.JSON.Bytes()
	if err != nil {
		return err
	}
	return s.List.WriteJSON(w, s.First, items)
}

// warn warns about omitted entries and about names that several tools have.
func (l *Listing) warn(c *Conn, k Kind, leftOut []LeftOut, names []string, out wire.Outcome) {
	for _, entry := range leftOut {
		c.Env.UI.Warn(entry.text(k.Method))
	}
	if out.OK() { // otherwise a page may have been received twice
		for _, text := range Ambiguous(names) {
			c.Env.UI.Warn(text)
		}
	}
	l.Unusable += len(leftOut)
}

// ToolNames returns the names of the tools.
func ToolNames(tools []mcp.Tool) []string {
	return sliceutil.Map(tools, func(tool mcp.Tool) string { return tool.Name })
}

// Entries are the parsed entries of a list. Only the field of its kind is set.
type Entries struct {
	Tools     []mcp.Tool
	Prompts   []mcp.Prompt
	Resources []mcp.Resource
	leftOut   []LeftOut
}

// Count returns the number of entries.
func (e Entries) Count() int { return len(e.Tools) + len(e.Prompts) + len(e.Resources) }

// LeftOut returns the entries that cannot be used.
func (e Entries) LeftOut() []LeftOut { return e.leftOut }

// SortEntries parses the items of a list, and separates the entries that cannot be used.
func (c *Conn) SortEntries(k Kind, list client.List) Entries {
	if k == ToolKind {
		all := c.newCatalogue(list)
		return Entries{Tools: all.Tools, leftOut: all.LeftOut}
	}
	return c.parseItems(k, list.Items, 0)
}

// parseItems parses items of a list. first is the number of the first item in the whole list.
func (c *Conn) parseItems(k Kind, items []json.RawMessage, first int) Entries {
	var e Entries
	if k == ToolKind {
		e.Tools, e.leftOut = c.parseTools(items, first)
		return e
	}
	for i, raw := range items {
		var bad *wire.Finding
		switch k {
		case PromptKind:
			e.Prompts, bad = appendParsed(e.Prompts, raw, mcp.ParsePrompt)
		case ResourceKind:
			e.Resources, bad = appendParsed(e.Resources, raw, mcp.ParseResource)
		case TemplateKind:
			e.Resources, bad = appendParsed(e.Resources, raw, mcp.ParseTemplate)
		case SkillKind:
			e.Resources, bad = appendParsed(e.Resources, raw, mcp.ParseSkill)
		}
		if bad != nil {
			e.leftOut = append(e.leftOut, LeftOut{Name: fmt.Sprintf("entry %d", first+i), Why: bad.Text})
		}
	}
	return e
}

// appendParsed parses raw and appends it to all. If it cannot be parsed, it returns the finding.
func appendParsed[T any](
	all []T,
	raw json.RawMessage,
	parse func(json.RawMessage) (T, *wire.Finding),
) ([]T, *wire.Finding) {
	one, bad := parse(raw)
	if bad != nil {
		return all, bad
	}
	return append(all, one), nil
}

// Result returns the list as one result, or several lists as members of one document. It keeps the
// server's bytes.
func (l Listing) Result(several bool) json.RawMessage {
	if !several {
		if len(l.Lists) == 0 {
			return nil
		}
		return l.Lists[0].List.Result()
	}
	doc := json.RawMessage("{}")
	for _, s := range l.Lists {
		member, items := s.List.Array()
		doc = jsonraw.With(doc, member, items)
	}
	return doc
}
