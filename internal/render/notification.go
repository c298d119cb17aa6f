package render

import (
	"io"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// Notification writes one line for a notification that came at a time: when, of what
// kind, and what it tells. Into a pipe goes the whole of it, with a TAB between
// the three and the time as RFC 3339 has it.
func Notification(w io.Writer, st term.Style, at time.Time, m *wire.Message) error {
	kind, what := describeNotification(m)
	line := at.Format("2006-01-02T15:04:05.000Z07:00") + "\t" + st.Line(kind) + "\t" + st.Line(what)
	if st.Pretty() {
		line = st.Paint(
			term.Dim,
			at.Format(time.TimeOnly),
		) + term.Gap + st.Paint(
			term.Bold,
			term.Pad(st.Line(kind), len("resources")),
		) + term.Gap +
			st.Line(
				st.Excerpt([]byte(what), term.MaxExcerpt),
			)
	}
	_, err := io.WriteString(w, line+"\n")
	return err
}

// heard is the kind of a notification and what it tells, as the server wrote it.
func describeNotification(m *wire.Message) (kind, what string) {
	params, _ := jsonraw.Object(m.Params)
	switch m.Method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		return strings.Split(m.Method, "/")[1], "the list changed"
	case "notifications/resources/updated":
		return "resource", "updated: " + params.Text("uri")
	case "notifications/message":
		return "log", logLine(params)
	}
	return strings.TrimPrefix(m.Method, "notifications/"), string(jsonraw.Compact(m.Params))
}

// logLine is `[warning] logger: data`, or without brackets where there is no level.
func logLine(params jsonraw.Members) string {
	data, _ := params.Get("data")
	text := term.LogText(data)
	if logger := params.Text("logger"); logger != "" {
		text = logger + ": " + text
	}
	if level := params.Text("level"); level != "" {
		text = "[" + level + "] " + text
	}
	return text
}

// A Change is what became of one entry of a list.
type Change struct {
	// Sign is "+" for a new entry, "-" for one that is gone, "~" for another one of
	// the same name.
	Sign, Kind, Name string
	// About says more: what an entry is good for, or what changed of it.
	About string
}

// Changes writes one line for each change: `~ tool get-sum  description`. Into a
// pipe the words stand with a TAB between them.
func Changes(w io.Writer, st term.Style, changes []Change) error {
	var b strings.Builder
	for _, c := range changes {
		cells := []string{c.Sign, st.Line(c.Kind), st.Line(c.Name), st.Line(c.About)}
		if !st.Pretty() {
			b.WriteString(strings.TrimRight(strings.Join(cells, "\t"), "\t") + "\n")
			continue
		}
		room := st.Columns() - term.Width(strings.Join(cells[:3], " ")+term.Gap)
		line := st.Paint(signColor[c.Sign], cells[0]) + " " + cells[1] + " " + st.Paint(term.Bold, cells[2])
		if c.About != "" && room > 10 {
			line += term.Gap + st.Cut(cells[3], room)
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var signColor = map[string]string{"+": term.Green, "-": term.Red, "~": term.Yellow}
