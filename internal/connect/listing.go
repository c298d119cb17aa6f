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

// A Listing is what a server listed, of one kind or of several.
type Listing struct {
	Lists    []Sorted
	Messages []*wire.Message
	// Shown counts the entries that a person sees, unusable those that were left out.
	Shown, Unusable int
}

// Sorted is the list of one kind. Of one that was taken as it came, Items and Pages are not
// kept, but the first page and what Taking says.
type Sorted struct {
	Kind
	client.List
	Entries Entries
	First   *wire.Message
	Taking
}

// A Taking says what becomes of the entries of a list whose pages are not kept.
type Taking struct {
	// JSON keeps the items as they crossed.
	JSON *Items
	// Rows receives the entries that can be used.
	Rows Rows
}

// Rows receives the entries of a list, page by page.
type Rows interface {
	Take(Entries)
	// Empty forgets what was taken: the list starts again.
	Empty()
	// Special gives the names of those tools that were taken of which there may be something to
	// tell: mcp.Names says which. Nothing is taken any more.
	Special() []string
}

// Add lists one kind. tells is set where what cannot be used is left out, and told. Where several are asked
// for, one that the server declares and then refuses is left out.
func (l *Listing) Add(ctx context.Context, c *Conn, k Kind, several, tells bool) (out wire.Outcome, left bool) {
	c.tellsLeftOut.Store(tells)
	list, out := c.Listed(ctx, k, nil)
	c.tellsLeftOut.Store(false)
	if several && client.UnknownMethod(out) {
		c.tellOmitted(k)
		return out, true
	}
	if len(list.Pages) == 0 {
		return out, false
	}
	s := Sorted{Kind: k, List: list}
	if tells {
		s.Entries = c.SortEntries(k, list)
		l.tell(c, k, s.Entries.leftOut, ToolNames(s.Entries.Tools), out)
		l.Shown += s.Entries.Count()
	} else {
		l.Shown += len(list.Items)
	}
	c.listed(k)
	l.Lists = append(l.Lists, s)
	l.Messages = append(l.Messages, list.Pages...)
	return out, false
}

// FailsAlone reports whether the failure of a list says nothing about the server's other lists, because the server
// answered.
func FailsAlone(o wire.Outcome) bool {
	isAnswered := o.Kind == wire.Transport && o.HTTP != nil && o.Reached == wire.Answered
	return o.Kind == wire.RPCFailed || o.Kind == wire.BadResponse || isAnswered
}

func (c *Conn) tellOmitted(k Kind) {
	c.Env.UI.Warn(fmt.Sprintf("%s is omitted: the server does not have this method", k.Method))
}

// WriteJSON writes the list as one result, and a line end: see client.List.WriteJSON.
func (s Sorted) WriteJSON(w io.Writer) error {
	items, err := s.JSON.Bytes()
	if err != nil {
		return err
	}
	return s.List.WriteJSON(w, s.First, items)
}

// tell warns of the entries that are left out, and of names that several tools have.
func (l *Listing) tell(c *Conn, k Kind, leftOut []LeftOut, names []string, out wire.Outcome) {
	for _, left := range leftOut {
		c.Env.UI.Warn(left.in(k.Method))
	}
	if out.Good() { // else a page may have come twice
		for _, text := range Ambiguous(names) {
			c.Env.UI.Warn(text)
		}
	}
	l.Unusable += len(leftOut)
}

func ToolNames(tools []mcp.Tool) []string {
	return sliceutil.Map(tools, func(tool mcp.Tool) string { return tool.Name })
}

// Entries are what a list holds, taken apart; only those of its kind are set.
type Entries struct {
	Tools     []mcp.Tool
	Prompts   []mcp.Prompt
	Resources []mcp.Resource
	leftOut   []LeftOut
}

func (e Entries) Count() int { return len(e.Tools) + len(e.Prompts) + len(e.Resources) }

// SortEntries parts what can be used from what cannot.
func (c *Conn) SortEntries(k Kind, list client.List) Entries {
	if k == ToolKind {
		all := c.sort(list)
		return Entries{Tools: all.Tools, leftOut: all.LeftOut}
	}
	return c.sortItems(k, list.Items, 0)
}

// sortItems parts entries of a list, which begin with the number first.
func (c *Conn) sortItems(k Kind, items []json.RawMessage, first int) (e Entries) {
	if k == ToolKind {
		e.Tools, e.leftOut = c.sortTools(items, first)
		return e
	}
	for i, raw := range items {
		var bad *wire.Finding
		switch k {
		case PromptKind:
			e.Prompts, bad = appended(e.Prompts, raw, mcp.ParsePrompt)
		case ResourceKind:
			e.Resources, bad = appended(e.Resources, raw, mcp.ParseResource)
		case TemplateKind:
			e.Resources, bad = appended(e.Resources, raw, mcp.ParseTemplate)
		case SkillKind:
			e.Resources, bad = appended(e.Resources, raw, mcp.ParseSkill)
		}
		if bad != nil {
			e.leftOut = append(e.leftOut, LeftOut{Name: fmt.Sprintf("entry %d", first+i), Why: bad.Text})
		}
	}
	return e
}

func appended[T any](
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

// Result is the list as one result, or the lists as members of one document,
// made of the server's bytes.
func (l Listing) Result(several bool) json.RawMessage {
	if !several {
		for _, s := range l.Lists {
			return s.List.Result()
		}
		return nil
	}
	doc := json.RawMessage("{}")
	for _, s := range l.Lists {
		member, items := s.List.Array()
		doc = jsonraw.With(doc, member, items)
	}
	return doc
}
