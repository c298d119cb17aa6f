package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/diff"
	"mcpc/internal/english"
	"mcpc/internal/live"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// Tools returns the tools that servers listed or that were called. A filter restricts them to the
// servers of the matching rows, or to the called tools if all matching rows are calls. Calls are
// counted in the conversations with a matching row.
func (v *Views) Tools(_ context.Context, q Query) ([]Tool, error) {
	table := &toolTable{v: v, servers: map[string]*serverTools{}}
	var lists, heard []live.Key
	filtered := q.Filter != "" || q.Only != nil
	selected := selection{onlyCalls: true, servers: map[string]bool{}, calls: map[toolOf]bool{}}
	talks := map[live.Talk]bool{}
	var err error
	if filtered {
		err = v.eachRow(q, func(r *rows.Row) bool {
			selected.add(r)
			talks[live.TalkOf(r)] = true
			return true
		})
	}
	if err == nil {
		err = v.eachRow(Query{Talk: q.Talk}, func(r *rows.Row) bool {
			if r.Method == ToolsList && r.Dir == wire.Sent && !r.IsOpen() {
				lists = append(lists, live.KeyOf(r))
			} else if r.IsSeparate || r.Notes.Notifications > 0 {
				heard = append(heard, live.KeyOf(r))
			}
			if !filtered || talks[live.TalkOf(r)] {
				table.addCall(r)
			}
			return true
		})
	}
	if err != nil {
		return nil, err
	}
	v.store.Look(lists, func(_ int, r *rows.Row) {
		if r != nil {
			table.addPage(r)
		}
	})
	v.store.Look(heard[max(0, len(heard)-maxHeard):], func(_ int, r *rows.Row) {
		if r != nil {
			table.addListChange(r)
		}
	})
	out := table.makeTools()
	if filtered {
		out = slices.DeleteFunc(out, func(tool Tool) bool { return !selected.has(tool) })
	}
	table.addErrors(out)
	return out, nil
}

// A selection is the set of tools that a filter selects: the tools of the calls it matches, or of
// the servers of its rows.
type selection struct {
	onlyCalls bool
	servers   map[string]bool
	calls     map[toolOf]bool
}

// A toolOf identifies a tool of a server.
type toolOf struct{ target, name string }

// add selects the tool or the server of a matching row.
func (s *selection) add(r *rows.Row) {
	s.onlyCalls = s.onlyCalls && r.Method == "tools/call"
	s.servers[r.Target] = true
	s.calls[toolOf{r.Target, r.Name}] = true
}

// has reports whether the filter selects a tool.
func (s *selection) has(t Tool) bool {
	return s.servers[t.Target] && (!s.onlyCalls || s.calls[toolOf{t.Target, t.Name}])
}

// maxHeard limits the rows searched for changes of a list.
const maxHeard = 500

// A toolTable collects facts about tools by the target of their server.
type toolTable struct {
	v       *Views
	servers map[string]*serverTools
}

type serverTools struct {
	target, name string
	// clients maps a client to its last lists, and lists has all lists.
	clients map[string]*clientLists
	lists   []*listing
	tools   map[string]*toolFacts
	stats   rows.Stats
}

// A clientLists has the last list that a client fetched, and the last complete list. Both may be nil.
type clientLists struct {
	last, whole *listing
	// changed is when the server announced changed tools after the last list; zero if it did not.
	changed time.Time
}

// A listing has the pages of one list in the order a client fetched them in.
type listing struct {
	at    time.Time
	pages []*ListPage
}

// A toolFacts has the facts about one tool.
type toolFacts struct {
	first, last    *Definition
	called, failed int
	lastRow        *live.Key
	lastFailed     *live.Key
}

// serverFor returns the server of a row, which it adds if it is new.
func (t *toolTable) serverFor(r *rows.Row) *serverTools {
	s := t.servers[r.Target]
	if s == nil {
		s = &serverTools{target: r.Target, clients: map[string]*clientLists{}, tools: map[string]*toolFacts{}}
		t.servers[r.Target] = s
	}
	s.name = cmp.Or(r.Server(), s.name, r.Target)
	return s
}

// factsFor returns the facts about a tool, which it adds if it is new.
func (s *serverTools) factsFor(name string) *toolFacts {
	if s.tools[name] == nil {
		s.tools[name] = &toolFacts{}
	}
	return s.tools[name]
}

// addCall counts a tool call. It ignores other rows, and calls that were not sent.
func (t *toolTable) addCall(r *rows.Row) {
	if r.Method != "tools/call" || r.Dir != wire.Sent || r.Kinds == 0 {
		return
	}
	s := t.serverFor(r)
	f := s.factsFor(r.Name)
	key := live.KeyOf(r)
	f.called++
	f.lastRow = &key
	if r.Failed() {
		f.failed++
		f.lastFailed = &key
	}
	s.stats.Add(r)
}

// clientOf names a client in a sentence.
func clientOf(r *rows.Row) string { return cmp.Or(r.ClientName(), "the client") }

// addPage adds a page of a tool list. A page that does not continue the client's last list begins
// another list, whose first pages are missing.
func (t *toolTable) addPage(r *rows.Row) {
	p := t.v.lists.Page(r)
	if p == nil {
		return
	}
	s := t.serverFor(r)
	client := clientOf(r)
	c := s.clients[client]
	if c == nil {
		c = &clientLists{}
		s.clients[client] = c
	}
	if p.Cursor == "" {
		c.last = &listing{}
		s.lists = append(s.lists, c.last)
	} else if c.last == nil || c.last.isComplete() || c.last.nextCursor() != p.Cursor { // its first page is not recorded
		c.last = &listing{}
	}
	c.last.pages = append(c.last.pages, p)
	c.last.at = r.Time
	c.changed = time.Time{} // this list is newer than the announcement
	if c.last.isComplete() {
		c.whole = c.last
	}
	listed := map[string]bool{}
	for _, before := range c.last.pages[:len(c.last.pages)-1] {
		for _, d := range before.Tools {
			listed[d.Name] = true
		}
	}
	for _, d := range p.Tools {
		f := s.factsFor(d.Name)
		if f.first == nil {
			f.first = d
		}
		if !listed[d.Name] { // the first of several tools with the same name counts
			f.last = d
		}
		listed[d.Name] = true
	}
}

// addListChange records that a server announced changed tools after a client's last list.
func (t *toolTable) addListChange(r *rows.Row) {
	s := t.servers[r.Target]
	if s == nil {
		return
	}
	if c := s.clients[clientOf(r)]; c != nil {
		if at := t.v.lists.ChangedAt(r); at.After(c.last.at) {
			c.changed = at
		}
	}
}

// list returns the list to judge a client by: the last complete one, else the last one.
func (c *clientLists) list() *listing {
	if c.whole != nil {
		return c.whole
	}
	return c.last
}

// describePage returns the page of the server's list that has a tool, or 0, and the page in words: of
// is "1 of 2" or "1 of 2 or more", and short is "1 of 2+" for the latter, else "". Of several lists
// with the tool it takes the last complete one, or else the last.
func (s *serverTools) describePage(name string) (page int, of, short string) {
	var best *listing
	for _, l := range s.lists {
		if l.pageOf(name) > 0 && (best == nil || l.isComplete() || !best.isComplete()) {
			best = l
		}
	}
	if best == nil {
		return 0, "", ""
	}
	page = best.pageOf(name)
	of = fmt.Sprintf("%d of %d", page, len(best.pages))
	if !best.isComplete() {
		return page, of + " or more", of + "+"
	}
	return page, of, ""
}

// pageOf returns the number of the page that has a tool, or 0.
func (l *listing) pageOf(name string) int {
	for i, p := range l.pages {
		if slices.ContainsFunc(p.Tools, func(d *Definition) bool { return d.Name == name }) {
			return i + 1
		}
	}
	return 0
}

// countTools returns how many tools of a listing have a name.
func (l *listing) countTools(name string) int {
	n := 0
	for _, p := range l.pages {
		for _, d := range p.Tools {
			if d.Name == name {
				n++
			}
		}
	}
	return n
}

// isComplete reports whether the client fetched all pages.
func (l *listing) isComplete() bool { return l.nextCursor() == "" }

// nextCursor returns the cursor of the page after the last one.
func (l *listing) nextCursor() string { return l.pages[len(l.pages)-1].Next }

// makeTools returns the tools of all servers, those with a problem first.
func (t *toolTable) makeTools() []Tool {
	out := []Tool{}
	for _, target := range slices.Sorted(maps.Keys(t.servers)) {
		s := t.servers[target]
		groups := map[string]*rows.Group{}
		for _, g := range s.stats.Groups() {
			groups[g.Name] = g
		}
		for _, name := range slices.Sorted(maps.Keys(s.tools)) {
			tool := t.makeTool(s, name, s.tools[name])
			if g := groups[name]; g != nil {
				tool.P50 = g.Percentile(50).Seconds()
				tool.P95 = g.Percentile(95).Seconds()
			}
			out = append(out, tool)
		}
		out = append(out, s.unfetchedPage()...)
	}
	// Tools that a client may not see or call come first.
	slices.SortStableFunc(out, func(a, b Tool) int { return min(len(b.Reason), 1) - min(len(a.Reason), 1) })
	return out
}

// makeTool returns a tool without its last error and its durations.
func (t *toolTable) makeTool(s *serverTools, name string, f *toolFacts) Tool {
	out := Tool{Server: bounded(s.name), Target: s.target, Name: name, Listed: "no", Called: f.called, Failed: f.failed}
	if f.lastRow != nil {
		out.LastRow = f.lastRow.String()
	}
	if d := f.last; d != nil {
		out.Listed = "yes"
		out.Description = d.Description
		out.InputSchema = d.InputSchema
		out.App = d.UI
		out.Schema = d.Schema
		out.Bytes = len(d.Raw)
		_, out.Page, out.ShortPage = s.describePage(name)
		if f.first != d {
			out.Changed = describeChanges(f.first, d)
		}
	}
	out.Listed, out.Reason = t.explainListing(s, name, f, out)
	return out
}

// describeChanges describes how the definition of a tool changed since it was first listed.
func describeChanges(was, is *Definition) string {
	const maxTexts = 3
	all := diff.CompareTool(was.Raw, is.Raw, diff.Options{})
	var texts []string
	for _, c := range all[:min(len(all), maxTexts)] {
		texts = append(texts, c.Text)
	}
	if more := len(all) - maxTexts; more > 0 {
		texts = append(texts, "and "+english.Plural(more, "more change"))
	}
	text := strings.Join(texts, "; ")
	if text == "" {
		return "its text changed"
	}
	return text
}

// explainListing returns whether a tool was listed, for the Listed of out, and why a client may not
// see or call it, "" if there is no reason. Of several clients the last one with a reason counts.
func (t *toolTable) explainListing(s *serverTools, name string, f *toolFacts, out Tool) (listed, reason string) {
	listed = out.Listed
	page, _, _ := s.describePage(name)
	var ignored string
	times := 0
	for _, client := range slices.Sorted(maps.Keys(s.clients)) {
		c := s.clients[client]
		if !c.changed.IsZero() {
			ignored = fmt.Sprintf("the server said at %s that its tools changed, and %s did not list them again",
				c.changed.In(t.v.Now().Location()).Format(time.TimeOnly), client)
		}
		times = max(times, c.list().countTools(name))
		if c.last.pageOf(name) > 0 || c.list().pageOf(name) > 0 {
			continue
		}
		fetched := len(c.list().pages)
		complete := c.list().isComplete()
		switch {
		case !complete && f.last != nil:
			page := max(page, fetched+1)
			listed = fmt.Sprintf("only on page %d, which was not fetched by %s", page, client)
			reason = fmt.Sprintf("it is on page %d of the list, and %s fetched no further than page %d", page, client, fetched)
		case f.last != nil:
			listed = "not for " + client
			reason = fmt.Sprintf("the last list that %s fetched does not have it", client)
		case !complete:
			reason = fmt.Sprintf("no page that %s fetched has it, and there are more", client)
		default:
			reason = fmt.Sprintf("the server did not list it for %s", client)
		}
	}
	if reason == "" && f.last == nil {
		reason = "no tools/list was recorded"
	} else if reason == "" {
		reason = describeProblems(name, out.Schema, times)
	}
	if reason == "" && f.called == 0 {
		reason = ignored
	}
	return listed, reason
}

// describeProblems returns the reasons why a client may not call a tool that it sees.
func describeProblems(name, schema string, times int) string {
	var texts []string
	if schema != usable {
		texts = append(texts, "clients may leave it out, because its schema is not usable: "+schema)
	}
	if !mcp.IsToolName(name) {
		texts = append(texts, "clients may refuse its name, which is not 1 to 128 characters of A-Z a-z 0-9 _ . -")
	}
	if times > 1 {
		texts = append(texts, fmt.Sprintf("the list has %d tools of this name, and clients call one of them", times))
	}
	return strings.Join(texts, "; ")
}

// unfetchedPage returns an entry for the first page that no client fetched. It returns nil if a
// client has the whole list or no list was fetched.
func (s *serverTools) unfetchedPage() []Tool {
	deepest := 0
	for _, c := range s.clients {
		if c.list().isComplete() {
			return nil
		}
		deepest = max(deepest, len(c.list().pages))
	}
	if deepest == 0 {
		return nil
	}
	clients := strings.Join(slices.Sorted(maps.Keys(s.clients)), " and ")
	return []Tool{
		{
			Server: s.name,
			Target: s.target,
			Name:   fmt.Sprintf("(tools on page %d)", deepest+1),
			Listed: "no",
			Page:   fmt.Sprintf("%d", deepest+1),
			Reason: fmt.Sprintf("the list has a page %d, which was not fetched by %s", deepest+1, clients),
		},
	}
}

// addErrors adds the last error of each tool; it reads the responses for that.
func (t *toolTable) addErrors(tools []Tool) {
	var keys []live.Key
	var toolIndexes []int
	for i, tool := range tools {
		if s := t.servers[tool.Target]; s.tools[tool.Name] != nil && s.tools[tool.Name].lastFailed != nil {
			keys = append(keys, *s.tools[tool.Name].lastFailed)
			toolIndexes = append(toolIndexes, i)
		}
	}
	t.v.store.Look(keys, func(i int, r *rows.Row) {
		if r == nil {
			return
		}
		tools[toolIndexes[i]].LastError = outcomeWords(r)
	})
}
