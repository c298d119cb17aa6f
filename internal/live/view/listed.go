package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live"
	"mcpc/internal/mcp"
	"mcpc/internal/recent"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// Lists caches the tool lists of servers. Equal definitions are stored once.
type Lists struct {
	mu          sync.Mutex
	pages       map[live.Key]*ListPage
	tools       map[string]*Definition
	listChanges recent.Map[live.Key, listChange]
	// latest maps target and name to the last definition.
	latest map[[2]string]*Definition
}

// A ListPage is one page of a tool list.
type ListPage struct {
	// Cursor is the cursor of the request, and Next the cursor of the next page.
	Cursor, Next string
	Tools        []*Definition
	hasEnded     bool
}

// A Definition is a tool of a tools/list.
type Definition struct {
	mcp.Tool
	// Schema is usable, or the reason why the input schema is not.
	Schema string
}

// usable is the Schema of a tool with an input schema that clients can use.
const usable = "usable"

// maxPages limits the pages and definitions in the cache.
const maxPages = 20_000

// NewLists returns an empty cache.
func NewLists() *Lists {
	return &Lists{pages: map[live.Key]*ListPage{}, tools: map[string]*Definition{}, latest: map[[2]string]*Definition{}}
}

// Page returns the page that a tools/list row returned, or nil if it returned no list. It reads a
// page that is not in the cache. The result must not be changed.
func (l *Lists) Page(r *rows.Row) *ListPage {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := live.KeyOf(r)
	if p := l.pages[key]; p != nil && p.hasEnded {
		return p
	}
	x, err := readExchange(r, maxBytes)
	if err != nil || x.Response.Raw == nil {
		return nil
	}
	request := wire.ParseMessage(x.Request.Raw)
	response := wire.ParseMessage(x.Response.Raw)
	result, _ := response.ResultMembers()
	items, bad := response.ResultItems("tools")
	if response.Result == nil || bad != nil {
		return nil
	}
	params, _ := request.ParamMembers()
	p := &ListPage{Cursor: params.Text("cursor"), Next: result.Text("nextCursor"), hasEnded: !r.IsOpen()}
	for _, raw := range items {
		d := l.definition(raw)
		p.Tools = append(p.Tools, d)
		l.latest[[2]string{r.Target, d.Name}] = d
	}
	// Empty the whole cache: p and its definitions stay usable.
	if max(len(l.pages), len(l.tools)) >= maxPages {
		clear(l.pages)
		clear(l.tools)
		clear(l.latest)
	}
	l.pages[key] = p
	return p
}

// definition returns the definition of a list entry, also of an invalid one. l.mu is locked.
func (l *Lists) definition(raw json.RawMessage) *Definition {
	if d := l.tools[string(raw)]; d != nil {
		return d
	}
	own := bytes.Clone(raw) // raw is a part of the whole list
	d := &Definition{Schema: usable}
	tool, problem := mcp.ParseTool(own)
	d.Tool = tool
	if problem != nil {
		members, _ := jsonraw.Object(own)
		d.Tool = mcp.Tool{
			Raw:         own,
			Name:        members.Text("name"),
			Description: members.Text("description"),
			InputSchema: members.Value("inputSchema"),
		}
		d.Schema = problem.Text
	} else if text := SchemaError(tool.InputSchema); text != "" {
		d.Schema = text
	}
	l.tools[string(own)] = d
	return d
}

// SchemaError returns why clients cannot use an input schema, or "".
func SchemaError(schema json.RawMessage) string {
	if _, _, err := validate.Compile(schema); err != nil {
		return err.Error()
	}
	if kind := jsonraw.First(schema, "type"); string(kind) != `"object"` {
		return fmt.Sprintf(`/inputSchema/type must be "object", got %s`, cmp.Or(jsonraw.Excerpt(kind, 40), "nothing"))
	}
	return ""
}

// Tool returns the definition of a called tool, or nil if no definition is known. It prefers the
// last definition that the call's conversation listed before the call, then a later one, then a
// definition from another conversation with the same target, and at last from another recording.
func (l *Lists) Tool(call *rows.Row) *Definition {
	const (
		inOtherTalk = 1 + iota
		afterCall
		beforeCall
	)
	bestRank := 0
	var best *Definition
	for _, r := range call.Capture().Rows() {
		if r.Method != ToolsList || r.Dir != wire.Sent || r.Target != call.Target || r.IsOpen() {
			continue
		}
		rank := beforeCall
		if live.TalkOf(r) != live.TalkOf(call) {
			rank = inOtherTalk
		} else if r.Time.After(call.Time) {
			rank = afterCall
		}
		if rank < bestRank || rank == afterCall && bestRank == afterCall { // the first list after the call counts
			continue
		}
		if p := l.Page(r); p != nil {
			for _, t := range p.Tools {
				if t.Name == call.Name {
					best = t
					bestRank = rank
				}
			}
		}
	}
	if best == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		best = l.latest[[2]string{call.Target, call.Name}]
	}
	return best
}

// ToolsList is the method of requests for tool lists.
const ToolsList = "tools/list"

// A listChange is the time of a row's last notification that the tools changed, and the size of the row
// when it was searched.
type listChange struct {
	size int64
	at   time.Time
}

// ChangedAt returns when the messages of a row last announced changed tools; zero if they did not.
func (l *Lists) ChangedAt(r *rows.Row) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := live.KeyOf(r)
	if change, ok := l.listChanges.Lookup(key); ok && change.size == r.Size() {
		return change.at
	}
	change := listChange{size: r.Size()}
	word := []byte("list_changed")
	holds := func(raw []byte) bool { return bytes.Contains(raw, word) }
	// AnyText does not decode rows without the word, which most are.
	if found, err := r.AnyText(holds, holds); err == nil && found {
		_ = r.EachFrame(func(f wire.Frame) error {
			if holds(f.Raw) && wire.ParseMessage(f.Raw).Method == "notifications/tools/list_changed" {
				change.at = f.Time
			}
			return nil
		})
	}
	l.listChanges.Put(key, change)
	return change.at
}
