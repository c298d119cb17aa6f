package view

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/diff"
	"mcpc/internal/live"
	"mcpc/internal/live/view/listed"
	"mcpc/internal/live/view/talk"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

const (
	// mostCompared is how many calls of a conversation are read to be compared.
	mostCompared = 500
	// leastShift is how much slower or faster on average is worth a line.
	leastShift = 10 * time.Millisecond
)

// A side is one of the conversations that are compared.
type side struct {
	tools map[string]*listed.Definition
	// calls are the last exchanges with the same request, order what was asked first.
	calls map[string]call
	order []string
	stats capture.Stats
}

type call struct{ title, channel, text string }

// Compare returns what differs between two conversations: their tools, the calls that both have,
// and how long those took.
func (v *Views) Compare(_ context.Context, talkA, talkB string) (Comparison, error) {
	out := Comparison{A: talkA, B: talkB, Tools: []string{}, Schemas: []string{}, Calls: []string{}, Timing: []string{}}
	a, err := v.side(talkA)
	if err != nil {
		return out, err
	}
	b, err := v.side(talkB)
	if err != nil {
		return out, err
	}
	a.compareTools(b, &out)
	for _, key := range a.order {
		was, is := a.calls[key], b.calls[key]
		if is.title != "" && (was.channel != is.channel || was.text != is.text) {
			out.Calls = append(out.Calls, fmt.Sprintf("%s: %s, was %s", was.title, is.text, was.text))
		}
	}
	out.Timing = append(out.Timing, shifted(a.stats.Groups(), b.stats.Groups())...)
	return out, nil
}

// side gathers a conversation.
func (v *Views) side(talk string) (*side, error) {
	s := &side{tools: map[string]*listed.Definition{}, calls: map[string]call{}}
	var keys []live.Key
	some := false
	err := v.each(Query{Talk: talk}, func(r *capture.Row) bool {
		some = true
		if r.Dir == wire.Sent && !r.Apart && !r.Open() {
			s.stats.Add(r)
			keys = append(keys, live.KeyOf(r))
		}
		return true
	})
	if err == nil && (!some || talk == "") {
		err = ErrGone
	}
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(keys[:min(len(keys), mostCompared)], someRows) {
		v.store.Look(part, func(_ int, r *capture.Row) {
			if r != nil {
				v.compared(s, r)
			}
		})
	}
	return s, nil
}

// compared notes one exchange of a side.
func (v *Views) compared(s *side, r *capture.Row) {
	if r.Method == listed.ToolsList {
		if p := v.lists.Page(r); p != nil {
			if p.Cursor == "" {
				clear(s.tools)
			}
			for _, d := range p.Tools {
				s.tools[d.Name] = d
			}
		}
		return
	}
	x, err := talk.Exchange(r, talk.MostBytes)
	if err != nil {
		return
	}
	title := talk.Request(wire.ParseMessage(x.Request.Raw))
	if r.Method == "initialize" {
		title = r.Method // of any client
	}
	key := r.Method + " " + r.Name
	if asked, _, err := parts(r); err == nil && r.Method == "tools/call" {
		key += " " + string(asked)
	}
	if _, again := s.calls[key]; !again {
		s.order = append(s.order, key)
	}
	s.calls[key] = call{title, r.Channel, talk.Outcome(r)}
}

// compareTools adds the tools that differ.
func (a *side) compareTools(b *side, out *Comparison) {
	if len(a.tools) == 0 || len(b.tools) == 0 {
		if len(a.tools)+len(b.tools) > 0 {
			out.Tools = append(out.Tools, "only one of the conversations listed tools")
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.tools)) {
		if b.tools[name] == nil {
			out.Tools = append(out.Tools, name+" was removed")
			continue
		}
		for _, c := range diff.CompareTool(a.tools[name].Raw, b.tools[name].Raw, diff.Options{}) {
			text := name + ": " + c.Text
			if c.Level != diff.Harmless {
				text += " (" + c.Level.String() + ")"
			}
			if strings.Contains(c.Pointer, "Schema") {
				out.Schemas = append(out.Schemas, text)
			} else {
				out.Tools = append(out.Tools, text)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.tools)) {
		if a.tools[name] == nil {
			out.Tools = append(out.Tools, name+" is new")
		}
	}
}

// shifted are the methods and names that take more than twice or less than half as long.
func shifted(was, is []*capture.Group) (texts []string) {
	for _, a := range was {
		i := slices.IndexFunc(is, func(b *capture.Group) bool { return a.Method == b.Method && a.Name == b.Name })
		if i < 0 {
			continue
		}
		before, after := a.Percentile(50), is[i].Percentile(50)
		if max(before, after)-min(before, after) < leastShift || max(before, after) <= 2*min(before, after) {
			continue
		}
		word := "slower"
		if after < before {
			word = "faster"
		}
		texts = append(texts, fmt.Sprintf("%s is %s: p50 %s, was %s", strings.TrimSpace(a.Method+" "+a.Name), word, term.Duration(after), term.Duration(before)))
	}
	return texts
}
