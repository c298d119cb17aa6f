package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/shape"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// A kind is one of the things that a server lists.
type kind struct {
	// one and many are what a person calls it.
	one, many string
	// method lists it, and key is the member of an entry that asks for it.
	method, key string
	// capability is what a server declares that has it.
	capability string
}

// kinds are all of them; the first is what is listed where none is named.
var kinds = []kind{
	{"tool", "tools", "tools/list", "name", "tools"},
	{"prompt", "prompts", "prompts/list", "name", "prompts"},
	{"resource", "resources", "resources/list", "uri", "resources"},
	{"template", "templates", "resources/templates/list", "uriTemplate", "resources"},
}

var toolKind, promptKind, resourceKind, templateKind = kinds[0], kinds[1], kinds[2], kinds[3]

// kindNamed takes the singular and the plural: nobody should have to remember
// which command wants which.
func kindNamed(word string) (kind, bool) {
	for _, k := range kinds {
		if word == k.one || word == k.many {
			return k, true
		}
	}
	return kind{}, false
}

func kindWords() []string { return mapped(kinds, func(k kind) string { return k.many }) }

func methodsOf(kinds []kind) []string { return mapped(kinds, func(k kind) string { return k.method }) }

// mapped is what each of all becomes; nil of none.
func mapped[T, U any](all []T, becomes func(T) U) (others []U) {
	for _, one := range all {
		others = append(others, becomes(one))
	}
	return others
}

// declares reports whether the server said that it has a capability. Where it
// said nothing at all of itself, nobody knows.
func (c *conversation) declares(capability string) (declared, known bool) {
	said := c.Info().Capabilities
	if said == nil {
		said = c.recalled
	}
	members, err := wire.Object(said)
	if err != nil {
		return false, false
	}
	_, declared = members.Get(capability)
	return declared, true
}

// offered leaves out what the server declares no capability for.
func (c *conversation) offered(all []kind) []kind {
	var there []kind
	for _, k := range all {
		if declared, known := c.declares(k.capability); known && !declared {
			if c.a.verbose > 0 {
				c.a.ui.note("the server does not declare " + k.capability + ", so " + k.method + " was not sent")
			}
			continue
		}
		there = append(there, k)
	}
	return there
}

// lacking says what an answer has to do with the capabilities that the server declares,
// to one that says that the method is not known and to one that says something else.
func (c *conversation) lacking(out wire.Outcome, capability string) wire.Outcome {
	if !client.UnknownMethod(out) {
		c.undeclared(out, capability)
		return out
	}
	out.Hint = wire.There("info") + " shows the server's capabilities"
	if declared, known := c.declares(capability); known && !declared {
		out.Hint = "the server does not declare " + wire.Hint(capability) + "; " + out.Hint
	}
	return out
}

// undeclared warns, once for each, of a capability that the server supports and did not
// declare. Clients that respect the declaration never use it.
func (c *conversation) undeclared(out wire.Outcome, capability string) {
	declared, known := c.declares(capability)
	if declared || !known || !out.Good() && out.Message == nil {
		return
	}
	c.mu.Lock()
	told := slices.Contains(c.warned, capability)
	c.warned = append(c.warned, capability)
	c.mu.Unlock()
	if !told {
		c.a.ui.warn("the server did not declare the capability " + capability + "; the request was sent anyway")
	}
}

// A listing is what a server listed, of one kind or of several.
type listing struct {
	lists    []sorted
	messages []*wire.Message
	// shown counts the entries that a person sees, unusable those that were left out.
	shown, unusable int
}

// sorted is the list of one kind.
type sorted struct {
	kind
	client.List
	entries entries
}

// add lists one kind. tells is set where what cannot be used is left out, and told. Where several are asked for, one that the server declares
// and then refuses is left out.
func (l *listing) add(ctx context.Context, c *conversation, k kind, several, tells bool) (out wire.Outcome, left bool) {
	c.tellsLeftOut.Store(tells)
	list, out := c.listed(ctx, k, nil)
	c.tellsLeftOut.Store(false)
	if several && client.UnknownMethod(out) {
		c.a.ui.warn(fmt.Sprintf("%s is omitted: the server does not have this method", k.method))
		return out, true
	}
	if len(list.Pages) == 0 {
		return out, false
	}
	s := sorted{kind: k, List: list}
	if tells {
		s.entries = c.sortEntries(k, list)
		for _, left := range s.entries.leftOut {
			c.a.ui.warn(left.in(k.method))
		}
		if out.Good() { // else a page may have come twice
			for _, text := range ambiguous(s.entries.tools) {
				c.a.ui.warn(text)
			}
		}
		l.shown += s.entries.count()
		l.unusable += len(s.entries.leftOut)
	} else {
		l.shown += len(list.Items)
	}
	l.lists = append(l.lists, s)
	l.messages = append(l.messages, list.Pages...)
	return out, false
}

// compareNumbers notes that an earlier list was longer with elicitation, which mcpc declares
// at a terminal, or shorter without. A number is remembered as a list with one entry.
func (c *conversation) compareNumbers(ctx context.Context, list sorted, tells bool) {
	if c.store == nil || list.kind != toolKind || !list.Whole || elicits(c.answering) {
		return
	}
	key := func(person bool) string {
		declared := offer(c.answering, person)
		return c.toolsKey(declared) + "\n" + c.Revision() + "\nnumber\n" + string(declared)
	}
	here, person, now := len(list.Items), c.a.ui.canAsk(), c.a.now()
	remembered := func(person bool, maxAge time.Duration) (number int, at time.Time) {
		list, err := c.store.Tools(key(person))
		if err != nil || list == nil || len(list.Tools) != 1 || now.Sub(list.FetchedAt) > maxAge {
			return -1, now
		}
		number, _ = strconv.Atoi(list.Tools[0].Name)
		return number, list.FetchedAt
	}
	if n, _ := remembered(person, rememberFor/2); n != here {
		_ = c.store.SaveTools(ctx, key(person), state.ToolList{FetchedAt: now, Tools: []state.Tool{{Name: strconv.Itoa(here)}}}) // only for a note
	}
	there, at := remembered(!person, rememberFor)
	if there < 0 || !tells {
		return
	}
	before := map[bool]string{true: "without", false: "with"}[person]
	if person && there < here || !person && there > here {
		c.a.ui.note(fmt.Sprintf("%s elicitation, which mcpc declares at a terminal, the server listed %s (%s)",
			before, plural(there, "tool"), ago(now, at)))
	}
}

// entries are what a list holds, taken apart; only those of its kind are set.
type entries struct {
	tools     []wire.Tool
	prompts   []wire.Prompt
	resources []wire.Resource
	leftOut   []leftOut
}

func (e entries) count() int { return len(e.tools) + len(e.prompts) + len(e.resources) }

// sortEntries parts what can be used from what cannot.
func (c *conversation) sortEntries(k kind, list client.List) entries {
	if k == toolKind {
		all := c.sort(list)
		return entries{tools: all.tools, leftOut: all.leftOut}
	}
	var e entries
	for i, raw := range list.Items {
		var bad *wire.Finding
		switch k {
		case promptKind:
			e.prompts, bad = appended(e.prompts, raw, wire.ParsePrompt)
		case resourceKind:
			e.resources, bad = appended(e.resources, raw, wire.ParseResource)
		case templateKind:
			e.resources, bad = appended(e.resources, raw, wire.ParseTemplate)
		}
		if bad != nil {
			e.leftOut = append(e.leftOut, leftOut{name: fmt.Sprintf("entry %d", i), why: bad.Text})
		}
	}
	return e
}

func appended[T any](all []T, raw json.RawMessage, parse func(json.RawMessage) (T, *wire.Finding)) ([]T, *wire.Finding) {
	one, bad := parse(raw)
	if bad != nil {
		return all, bad
	}
	return append(all, one), nil
}

// shape holds a message against its shape. Of an entry that is told to be left out nothing
// more is said.
func (c *conversation) shape(revision, method string, m *wire.Message) []wire.Finding {
	if !c.tellsLeftOut.Load() || c.a.strict {
		return shape.Check(revision, method, m)
	}
	return shape.CheckBut(func(raw []byte) bool {
		var bad *wire.Finding
		switch method {
		case toolKind.method:
			_, bad = wire.ParseTool(raw)
		case promptKind.method:
			_, bad = wire.ParsePrompt(raw)
		case resourceKind.method:
			_, bad = wire.ParseResource(raw)
		case templateKind.method:
			_, bad = wire.ParseTemplate(raw)
		}
		return bad != nil
	}, revision, method, m)
}

// write shows the entries as a table.
func (e entries) write(w io.Writer, st render.Style, k kind, long bool) error {
	switch k {
	case toolKind:
		return render.Tools(w, st, e.tools, long)
	case promptKind:
		return render.Prompts(w, st, e.prompts, long)
	}
	return render.Resources(w, st, e.resources, long)
}

// showsTables reports that the answer is no JSON, which has all that came.
func (a *app) showsTables() bool { return !a.json && !a.wire && a.jq == "" }

// answerOfLists is what `mcpc list` prints: one list, or several as one answer.
func (a *app) answerOfLists(l listing, several, long bool) answer {
	ans := answer{messages: l.messages}
	switch {
	case !several && a.onlyWritesJSON() && len(l.messages) > 1:
		ans.write = l.lists[0].List.WriteLine
	case a.json || a.jq != "" || a.output != "":
		ans.result = l.result(several)
	}
	if len(l.lists) == 1 && !several {
		s := l.lists[0]
		ans.method = s.method
		ans.human = func(w io.Writer, st render.Style) error { return s.entries.write(w, st, s.kind, long) }
		return ans
	}
	ans.human = func(w io.Writer, st render.Style) error {
		var parts []render.Section
		for _, s := range l.lists {
			parts = append(parts, render.Section{Heading: s.many, Prefix: s.one,
				Write: func(w io.Writer) error { return s.entries.write(w, st, s.kind, long) }})
		}
		return render.Sections(w, st, parts)
	}
	return ans
}

// result is the list as one result, or the lists as members of one document,
// made of the server's bytes.
func (l listing) result(several bool) json.RawMessage {
	if !several {
		for _, s := range l.lists {
			return s.List.Result()
		}
		return nil
	}
	doc := json.RawMessage("{}")
	for _, s := range l.lists {
		member, items := s.List.Array()
		doc = wire.With(doc, member, items)
	}
	return doc
}

// fewNames are so few that a hint can name all of them.
const fewNames = 8

// nearestIn names what was perhaps meant, or what there is.
func nearestIn(k kind, name string, names []string) wire.Hint {
	switch near := wire.Nearest(name, names); {
	case near != "":
		return wire.Hint("did you mean " + near + "?")
	case len(names) == 0:
		return wire.Hint("the server lists no " + k.many)
	case len(names) <= fewNames && len(strings.Join(names, ", ")) <= 200:
		slices.Sort(names)
		return wire.Hint("there are: " + strings.Join(names, ", "))
	}
	return wire.There("list "+k.many) + " shows the server's " + wire.Hint(k.many)
}
