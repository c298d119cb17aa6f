package render

import (
	"io"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// Notification writes one line for a notification received at the time at: the time, the kind and
// the content. A pipe gets the whole content, with a TAB between the three and the time as RFC
// 3339.
func Notification(w io.Writer, st term.Style, at time.Time, m *wire.Message) error {
	kind, content := describeNotification(m)
	line := at.Format("2006-01-02T15:04:05.000Z07:00") + "\t" + st.Line(kind) + "\t" + st.Line(content)
	if st.Pretty() {
		clock := st.Paint(term.Dim, at.Format(time.TimeOnly))
		paddedKind := st.Paint(term.Bold, term.Pad(st.Line(kind), len("resources"))) // the longest common kind
		line = clock + term.Gap + paddedKind + term.Gap + st.Line(st.Excerpt([]byte(content), term.MaxExcerpt))
	}
	_, err := io.WriteString(w, line+"\n")
	return err
}

// describeNotification returns the kind of a notification and its content, not sanitized.
func describeNotification(m *wire.Message) (kind, content string) {
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

// logLine returns `[warning] logger: data`, without brackets if there is no level.
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

// A Change is a difference in one entry of a list.
type Change struct {
	// Sign is "+" for an added entry, "-" for a removed entry, "~" for a changed entry of the same
	// name.
	Sign, Kind, Name string
	// About is the description of the entry, or describes the change.
	About string
}

// Changes writes one line for each change: `~ tool get-sum description`. In a pipe a TAB separates
// the cells.
func Changes(w io.Writer, st term.Style, changes []Change) error {
	var b strings.Builder
	for _, c := range changes {
		kind := st.Line(c.Kind)
		name := st.Line(c.Name)
		about := st.Line(c.About)
		if !st.Pretty() {
			line := strings.Join([]string{c.Sign, kind, name, about}, "\t")
			b.WriteString(strings.TrimRight(line, "\t") + "\n")
			continue
		}
		room := st.Columns() - term.Width(c.Sign+" "+kind+" "+name+term.Gap)
		line := st.Paint(signColor[c.Sign], c.Sign) + " " + kind + " " + st.Paint(term.Bold, name)
		if about != "" && room > 10 { // less is not worth reading
			line += term.Gap + st.Cut(about, room)
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var signColor = map[string]string{"+": term.Green, "-": term.Red, "~": term.Yellow}
