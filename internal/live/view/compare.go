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
	"mcpc/internal/exchange"
	"mcpc/internal/live"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

const (
	// maxCompared limits the calls of a conversation that are compared.
	maxCompared = 500
	// minShift is the smallest change of a median that is worth a line.
	minShift = 10 * time.Millisecond
)

// A side has the rows of a compared conversation.
type side struct {
	tools map[string]*Definition
	// isPartial is true if the client did not fetch the last page of the list.
	isPartial bool
	// calls maps a request to its last exchange. order has the requests in the order of their first.
	calls map[string]call
	order []string
	stats rows.Stats
}

type call struct{ method, name, title, channel, text string }

// Compare returns the differences between two conversations: in their tools, in the requests that
// they sent, in the outcomes, and in the durations. It returns ErrGone if either has no rows. The
// second conversation is the newer: a text describes what the first "was".
func (v *Views) Compare(_ context.Context, talkA, talkB string) (Comparison, error) {
	out := Comparison{A: talkA, B: talkB, Tools: []string{}, Schemas: []string{}, Calls: []string{}, Timing: []string{}}
	a, err := v.readSide(talkA)
	if err != nil {
		return out, err
	}
	b, err := v.readSide(talkB)
	if err != nil {
		return out, err
	}
	a.compareTools(b, &out)
	listed := map[[2]string]bool{}
	for _, key := range a.order {
		before := a.calls[key]
		after, isInBoth := b.calls[key]
		hasChanged := before.channel != after.channel || before.text != after.text
		if isInBoth && after.title != "" && hasChanged {
			out.Calls = append(out.Calls, fmt.Sprintf("%s: %s, was %s", before.title, after.text, before.text))
			listed[[2]string{before.method, before.name}] = true
		}
	}
	out.Calls = append(out.Calls, outcomeChanges(a.stats.Groups(), b.stats.Groups(), listed)...)
	out.Timing = append(out.Timing, timingChanges(a.stats.Groups(), b.stats.Groups())...)
	return out, nil
}

// readSide reads a conversation. It returns ErrGone if it has no rows.
func (v *Views) readSide(talk string) (*side, error) {
	s := &side{tools: map[string]*Definition{}, calls: map[string]call{}}
	var keys []live.Key
	found := false
	err := v.eachRow(Query{Talk: talk}, func(r *rows.Row) bool {
		found = true
		if r.Dir != wire.Sent || r.IsSeparate {
			return true
		}
		s.stats.Add(r)
		if !r.IsOpen() {
			keys = append(keys, live.KeyOf(r))
		}
		return true
	})
	if err == nil && (!found || talk == "") { // "" would select the rows of all conversations
		err = ErrGone
	}
	if err != nil {
		return nil, err
	}
	// Exchanges are read in parts, so that the store is not locked for long.
	for part := range slices.Chunk(keys[:min(len(keys), maxCompared)], defaultRows) {
		v.store.Look(part, func(_ int, r *rows.Row) {
			if r != nil {
				v.addTo(s, r)
			}
		})
	}
	return s, nil
}

// addTo adds an exchange to a side: a page of the tool list, or a call. It leaves out an exchange
// that cannot be read.
func (v *Views) addTo(s *side, r *rows.Row) {
	if r.Method == ToolsList {
		if p := v.lists.Page(r); p != nil {
			if p.Cursor == "" {
				clear(s.tools) // the first page of a new list
			}
			s.isPartial = p.Next != ""
			for _, d := range p.Tools {
				if s.tools[d.Name] == nil { // the first of several tools with the same name counts
					s.tools[d.Name] = d
				}
			}
		}
		return
	}
	recorded, err := readExchange(r, maxBytes)
	if err != nil {
		return
	}
	title := requestWords(wire.ParseMessage(recorded.Request.Raw))
	if r.Method == "initialize" {
		title = r.Method // without the name of the client
	}
	// Calls of a tool with different arguments are different requests.
	key := r.Method + " " + r.Name
	if params, _, err := comparedParts(r); err == nil && r.Method == "tools/call" {
		key += " " + string(params)
	}
	if _, again := s.calls[key]; !again {
		s.order = append(s.order, key)
	}
	s.calls[key] = call{r.Method, r.Name, title, r.Channel, outcomeWords(r)}
}

// compareTools adds the differences between the tool lists of two sides.
func (a *side) compareTools(b *side, out *Comparison) {
	if len(a.tools) == 0 || len(b.tools) == 0 {
		if len(a.tools)+len(b.tools) > 0 {
			out.Tools = append(out.Tools, "only one of the conversations listed tools")
		}
		return
	}
	addOnlyIn := func(own, other *side, ifPartial, ifComplete string) {
		for _, name := range slices.Sorted(maps.Keys(own.tools)) {
			if other.tools[name] != nil {
				continue
			}
			text := ifComplete
			if other.isPartial { // the other list may have the tool on a page that was not fetched
				text = ifPartial
			}
			out.Tools = append(out.Tools, name+text)
		}
	}
	addOnlyIn(a, b, " is in the list of the first only; the second did not fetch all pages of its list", " was removed")
	for _, name := range slices.Sorted(maps.Keys(a.tools)) {
		if b.tools[name] == nil {
			continue
		}
		for _, c := range diff.CompareTool(a.tools[name].Raw, b.tools[name].Raw, diff.Options{}) {
			text := name + ": " + c.Text
			if c.Level != diff.Harmless {
				text += " (" + c.Level.String() + ")"
			}
			if strings.Contains(c.Pointer, "Schema") { // inputSchema or outputSchema
				out.Schemas = append(out.Schemas, text)
			} else {
				out.Tools = append(out.Tools, text)
			}
		}
	}
	addOnlyIn(b, a, " is in the list of the second only; the first did not fetch all pages of its list", " is new")
}

// outcomeChanges describes the groups that only one side has, and the groups with an outcome that the
// other side does not have. It skips the listed groups.
func outcomeChanges(first, second []*rows.Group, listed map[[2]string]bool) []string {
	name := func(g *rows.Group) string { return strings.TrimSpace(g.Method + " " + g.Name) }
	var texts []string
	for _, a := range first {
		b := findGroup(a, second)
		if b == nil {
			texts = append(texts, fmt.Sprintf("%s: %s, only in the first", name(a), times(a.Count)))
			continue
		}
		before := failures(a)
		after := failures(b)
		sameOutcomes := maps.EqualFunc(before, after, func(int, int) bool { return true }) // any numbers
		if !listed[[2]string{a.Method, a.Name}] && !sameOutcomes {
			texts = append(texts,
				fmt.Sprintf("%s: %s, was %s", name(a), failuresText(after, b.Count), failuresText(before, a.Count)))
		}
	}
	for _, b := range second {
		if findGroup(b, first) == nil {
			texts = append(texts, fmt.Sprintf("%s: %s, only in the second", name(b), times(b.Count)))
		}
	}
	return texts
}

// findGroup returns the group with the method and name of g, or nil.
func findGroup(g *rows.Group, all []*rows.Group) *rows.Group {
	i := slices.IndexFunc(all, func(x *rows.Group) bool { return x.Method == g.Method && x.Name == g.Name })
	if i < 0 {
		return nil
	}
	return all[i]
}

func times(n int) string { return english.Plural(n, "time") }

// failures returns how often the exchanges of a group failed, were cancelled or are open, by channel.
func failures(g *rows.Group) map[string]int {
	all := map[string]int{exchange.ChannelCancelled: g.Cancelled, exchange.ChannelOpen: g.Open}
	for _, f := range g.Failures() {
		all[f.Channel] = f.Count
	}
	maps.DeleteFunc(all, func(_ string, n int) bool { return n == 0 })
	return all
}

// failuresText describes the failures of a group with total exchanges, by channel: "2 tool_error of 5".
func failuresText(all map[string]int, total int) string {
	var texts []string
	for _, channel := range slices.Sorted(maps.Keys(all)) {
		texts = append(texts, fmt.Sprintf("%d %s", all[channel], channel))
	}
	return fmt.Sprintf("%s of %d", cmp.Or(strings.Join(texts, ", "), "no failure"), total)
}

// timingChanges describes the groups with a median that more than doubled or halved.
func timingChanges(first, second []*rows.Group) []string {
	var texts []string
	for _, a := range first {
		b := findGroup(a, second)
		if b == nil || a.Timed() == 0 || b.Timed() == 0 {
			continue
		}
		before := a.Percentile(50)
		after := b.Percentile(50)
		shorter := min(before, after)
		longer := max(before, after)
		if longer-shorter < minShift || longer <= 2*shorter {
			continue
		}
		word := "slower"
		if after < before {
			word = "faster"
		}
		name := strings.TrimSpace(a.Method + " " + a.Name)
		texts = append(texts,
			fmt.Sprintf("%s is %s: p50 %s, was %s", name, word, term.Duration(after), term.Duration(before)))
	}
	return texts
}
