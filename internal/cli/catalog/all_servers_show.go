package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/schema"
	"mcpc/internal/wire"
)

// matchingEntries returns the entries that contain all words in their names, titles, descriptions,
// URIs or names of arguments, ignoring case. It returns all entries if words is empty. It does not
// change items.
func matchingEntries(items []json.RawMessage, words []string) []json.RawMessage {
	if len(words) == 0 {
		return items
	}
	return slices.DeleteFunc(slices.Clone(items), func(raw json.RawMessage) bool {
		text := strings.ToLower(strings.Join(textsOf(raw), "\n"))
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, strings.ToLower(word)) })
	})
}

// textsOf returns the texts of an entry, of any kind, that a search for words covers. A text is "" if
// the entry does not have the member.
func textsOf(raw json.RawMessage) []string {
	m, _ := jsonraw.Object(raw)
	var texts []string
	for _, name := range []string{"name", "title", "description", "uri", "uriTemplate"} {
		texts = append(texts, m.Text(name))
	}
	front, _ := jsonraw.Object(m.Value("frontmatter")) // of a skill
	texts = append(texts, front.Text("name"), front.Text("description"))
	for _, p := range schema.New(m.Value("inputSchema")).Schema().Properties() {
		texts = append(texts, p.Name)
	}
	arguments, _ := m.Get("arguments") // of a prompt
	list, _ := jsonraw.Array(arguments)
	for _, argument := range list {
		texts = append(texts, toolcall.TextOf(jsonraw.First(argument, "name")))
	}
	return texts
}

// sectionsOf returns a section for each list of each server. At a terminal its heading is the
// server's name; in a pipe each line begins with the name. If several kinds are listed, the kind is
// added.
func sectionsOf(all []*Surveyed, st term.Style, o surveyOptions) []render.Section {
	var parts []render.Section
	for _, s := range all {
		for _, l := range s.lists {
			name := st.Line(s.ID)
			part := render.Section{Heading: name, Prefix: name}
			if len(o.kinds) > 1 {
				part.Heading = name + " " + l.Many
				part.Prefix = name + "\t" + l.One
			}
			if len(s.Also) > 0 {
				part.Heading += st.Line(" (the same as " + strings.Join(s.Also, ", ") + ")")
			}
			part.Write = func(w io.Writer) error { return cmdutil.WriteEntries(l.Entries, w, st, l.Kind, o.long) }
			parts = append(parts, part)
		}
	}
	return parts
}

// summary returns the state of a server, the sizes of its lists, and the revision.
func (s *Surveyed) summary() string {
	var parts []string
	if !s.Out.OK() {
		parts = append(parts, "failed: "+cmp.Or(s.Out.Text, string(s.Out.Kind)))
	}
	for _, l := range s.lists {
		parts = append(parts, english.Plural(len(l.Items), l.One))
	}
	if s.Out.OK() && len(s.lists) == 0 {
		parts = append(parts, "lists nothing")
	}
	if s.revision != "" {
		parts = append(parts, s.revision)
	}
	return strings.Join(parts, ", ")
}

// surveyJSON returns the JSON document of a survey: each server with its lists, whose entries are the
// server's bytes, or, if bills is set, with the bill of its tools, and the sum of the bills. Skipped
// servers follow with the reason.
func surveyJSON(all []*Surveyed, skipped []cmdutil.SkippedServer, bills bool) json.RawMessage {
	var rows []json.RawMessage
	// text returns row with a member of that name, or row itself if the value is "".
	text := func(row json.RawMessage, name, value string) json.RawMessage {
		if value == "" {
			return row
		}
		return jsonraw.With(row, name, jsonraw.Quote(value))
	}
	for _, s := range all {
		row := text(text(text(nil, "id", s.ID), "from", s.Title), "file", s.File)
		if len(s.Also) > 0 {
			also, _ := json.Marshal(s.Also)
			row = jsonraw.With(row, "same", also)
		}
		row = text(row, "revision", s.revision)
		if !s.Out.OK() {
			row = jsonraw.With(
				row,
				"error",
				text(text(text(nil, "kind", string(s.Out.Kind)), "message", s.Out.Text), "hint", s.Out.Hint.String()),
			)
		}
		for _, l := range s.lists {
			if bills { // of the list of tools, the only list
				b, _ := json.Marshal(billOf(l.List))
				row = jsonraw.With(row, "bill", b)
				continue
			}
			member, _ := l.List.Array()
			row = jsonraw.With(row, member, arguments.AsList(l.Items))
		}
		rows = append(rows, row)
	}
	for _, u := range skipped {
		rows = append(rows, text(text(nil, "id", u.ID), "notAsked", u.Why))
	}
	if !bills {
		return jsonraw.With(nil, "servers", arguments.AsList(rows))
	}
	sum := billOfServers(all)
	sum.Rows = arguments.AsList(rows)
	raw, _ := json.Marshal(sum)
	return raw
}

// ReportFailures returns the outcome of a command that asked several servers: OK if none failed, else
// a failure of the most severe kind. If more than one was asked and some failed, it writes each failure
// to standard error; isReported is then true, and the outcome is a summary. Otherwise the caller has
// to report the outcome. It is also a failure if no server was asked and one waits for approval.
func ReportFailures(
	ctx context.Context,
	f *cmdutil.Factory,
	asked []*Surveyed,
	skipped []cmdutil.SkippedServer,
) (out wire.Outcome, isReported bool) {
	if ctx.Err() != nil {
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}, false
	}
	waitsForApproval := func(s cmdutil.SkippedServer) bool { return s.Why == cmdutil.NotTrusted }
	if len(asked) == 0 && slices.ContainsFunc(skipped, waitsForApproval) {
		return wire.Outcome{
			Kind:  wire.Refused,
			Phase: "arguments",
			Text:  "no known server is trusted yet",
			Hint:  wire.Run("servers trust NAME") + " approves one",
		}, false
	}
	var failed []string
	var mostSevere wire.Outcome
	for _, s := range asked {
		if s.Out.OK() {
			continue
		}
		failed = append(failed, s.ID)
		if cmdutil.MoreSevere(mostSevere.Kind, s.Out.Kind) != mostSevere.Kind {
			mostSevere = s.Out
		}
		if len(asked) > 1 {
			s.Out.ServerName = s.ID
			failure.Write(f.Stderr(), f.ErrStyle, s.Out)
		}
	}
	if len(failed) == 0 || len(asked) == 1 {
		return mostSevere, false
	}
	return wire.Outcome{
		Kind: mostSevere.Kind, Reached: mostSevere.Reached,
		Text: fmt.Sprintf("%d of %d servers failed: %s", len(failed), len(asked), strings.Join(failed, ", ")),
	}, true
}
