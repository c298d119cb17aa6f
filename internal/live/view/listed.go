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

// Lists keep what servers listed: each definition once, however often it was listed.
type Lists struct {
	mu    sync.Mutex
	pages map[live.Key]*ListPage
	tools map[string]*Definition
	heard recent.Map[live.Key, heard]
	// latest are the definitions by target and name.
	latest map[[2]string]*Definition
}

// A ListPage is one page of tools.
type ListPage struct {
	// Cursor is that of the request, Next that of the page behind it.
	Cursor, Next string
	Tools        []*Definition
	settled      bool
}

// A Definition is an entry of a tools/list.
type Definition struct {
	mcp.Tool
	// Schema is Usable, or why the input schema is not.
	Schema string
}

// usable is what a Tool says of a schema that clients can use.
const usable = "usable"

// mostPages is how many pages and definitions are remembered.
const mostPages = 20_000

// NewLists keeps nothing yet.
func NewLists() *Lists {
	return &Lists{pages: map[live.Key]*ListPage{}, tools: map[string]*Definition{}, latest: map[[2]string]*Definition{}}
}

// Page is what a tools/list returned; nil where it returned no list.
func (l *Lists) Page(r *rows.Row) *ListPage {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := live.KeyOf(r)
	if p := l.pages[key]; p != nil && p.settled {
		return p
	}
	x, err := readExchange(r, mostBytes)
	if err != nil || x.Response.Raw == nil {
		return nil
	}
	asked := wire.ParseMessage(x.Request.Raw)
	answer := wire.ParseMessage(x.Response.Raw)
	result, _ := answer.ResultMembers()
	items, bad := answer.ResultItems("tools")
	if answer.Result == nil || bad != nil {
		return nil
	}
	params, _ := asked.ParamMembers()
	p := &ListPage{Cursor: params.Text("cursor"), Next: result.Text("nextCursor"), settled: !r.Open()}
	for _, raw := range items {
		d := l.define(raw)
		p.Tools = append(p.Tools, d)
		l.latest[[2]string{r.Target, d.Name}] = d
	}
	if max(len(l.pages), len(l.tools)) >= mostPages {
		clear(l.pages)
		clear(l.tools)
		clear(l.latest)
	}
	l.pages[key] = p
	return p
}

// define is the definition of an entry.
func (l *Lists) define(raw json.RawMessage) *Definition {
	if d := l.tools[string(raw)]; d != nil {
		return d
	}
	own := bytes.Clone(raw)
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
	} else if _, _, err := validate.Compile(tool.InputSchema); err != nil {
		d.Schema = err.Error()
	} else if kind := jsonraw.First(tool.InputSchema, "type"); string(kind) != `"object"` {
		d.Schema = fmt.Sprintf(`/inputSchema/type must be "object", got %s`, cmp.Or(jsonraw.Excerpt(kind, 40), "nothing"))
	}
	l.tools[string(own)] = d
	return d
}

// Tool is the definition that the conversation of a call had when it was called, else a later
// one, else that of another conversation with the same target, of another recording where a
// view read that; nil where none is known.
func (l *Lists) Tool(call *rows.Row) (best *Definition) {
	rank := 0
	for _, r := range call.Capture().Rows() {
		if r.Method != ToolsList || r.Dir != wire.Sent || r.Target != call.Target || r.Open() {
			continue
		}
		own := 1
		switch {
		case live.TalkOf(r) != live.TalkOf(call):
		case r.Time.After(call.Time):
			own = 2
		default:
			own = 3
		}
		if own < rank || own == 2 && rank == 2 {
			continue
		}
		if p := l.Page(r); p != nil {
			for _, t := range p.Tools {
				if t.Name == call.Name {
					best = t
					rank = own
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

// ToolsList is the method whose answers are kept.
const ToolsList = "tools/list"

// A heard is when a row's server said last that its tools changed, and how much of the row was
// searched for that.
type heard struct {
	size int64
	at   time.Time
}

// ChangedAt is when the messages of a row said last that the tools changed; zero where none did.
func (l *Lists) ChangedAt(r *rows.Row) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := live.KeyOf(r)
	if h, ok := l.heard.Lookup(key); ok && h.size == r.Size() {
		return h.at
	}
	h := heard{size: r.Size()}
	word := []byte("list_changed")
	holds := func(raw []byte) bool { return bytes.Contains(raw, word) }
	if found, err := r.AnyText(holds, holds); err == nil && found {
		_ = r.EachFrame(func(f wire.Frame) error {
			if holds(f.Raw) && wire.ParseMessage(f.Raw).Method == "notifications/tools/list_changed" {
				h.at = f.Time
			}
			return nil
		})
	}
	l.heard.Put(key, h)
	return h.at
}
