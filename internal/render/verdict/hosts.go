package verdict

import (
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/render/term"
)

// Hosts says what the model interfaces of hosts do with the tools of a server. What they do
// not accept breaks no rule.
type Hosts struct {
	Hosts []Host     `json:"hosts"`
	Tools []HostTool `json:"tools"`
	// Whole is set where each tool is shown to a person, not only how many there are.
	Whole bool `json:"-"`
}

// A Host is a model interface, with the date and the source of what is known of it.
type Host struct {
	ID     string `json:"host"`
	Title  string `json:"title"`
	Date   string `json:"date"`
	Source string `json:"source"`
}

// A HostTool is a tool with a cell for each host, in their order.
type HostTool struct {
	Tool  string     `json:"tool"`
	Cells []HostCell `json:"cells"`
}

// A HostCell is what a host does with a tool, "ok" or a word for less, and why.
type HostCell struct {
	Host    string   `json:"host"`
	Verdict string   `json:"verdict"`
	Reasons []string `json:"reasons,omitempty"`
}

// verdictWords are the verdicts other than "ok", the worst first.
var verdictWords = []string{"refused", "unclear", "changed"}

// shown are the tools that a table has.
func (h *Hosts) visibleTools() (tools []HostTool) {
	for _, t := range h.Tools {
		if h.Whole || slices.ContainsFunc(t.Cells, func(c HostCell) bool { return c.Verdict != OK }) {
			tools = append(tools, t)
		}
	}
	return tools
}

// counts are the numbers of tools for each word other than "ok"; "" where there are none.
func (h *Hosts) verdictCounts(host int) string {
	var parts []string
	for _, word := range verdictWords {
		n := 0
		for _, t := range h.Tools {
			if t.Cells[host].Verdict == word {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", word, n))
		}
	}
	return strings.Join(parts, ", ")
}

// reasons are why a host does not take tools as they are, each with the number of tools and
// the first of them.
func (h *Hosts) reasons(host int) (lines []string) {
	by := map[string][]string{}
	var order []string
	for _, t := range h.Tools {
		for _, reason := range t.Cells[host].Reasons {
			if by[reason] == nil {
				order = append(order, reason)
			}
			if !slices.Contains(by[reason], t.Tool) {
				by[reason] = append(by[reason], t.Tool)
			}
		}
	}
	for _, reason := range order[:min(maxReasons, len(order))] {
		line := reason + ": " + by[reason][0]
		if n := len(by[reason]) - 1; n > 0 {
			line += fmt.Sprintf(" and %d more", n)
		}
		lines = append(lines, line)
	}
	if n := len(order) - maxReasons; n > 0 {
		lines = append(lines, fmt.Sprintf("%d more reasons (--json)", n))
	}
	return lines
}

// maxReasons bounds the reasons of one host in the report for a person, toolColumn is the width
// of the names of tools in it.
const maxReasons, toolColumn = 6, 36

// hosts writes how many tools each host does not take as they are, or the whole matrix.
func (t *text) hosts(h *Hosts) {
	if h == nil || !h.Whole && len(h.visibleTools()) == 0 {
		return
	}
	more := " (--hosts shows which)"
	if h.Whole {
		more = ""
	}
	t.b.WriteByte('\n')
	t.line(0, t.st.Strong("hosts")+"  "+english.Plural(len(h.Tools), "tool")+", as model interfaces take them"+more)
	for i, host := range h.Hosts {
		counts := h.verdictCounts(i)
		if counts == "" && !h.Whole {
			continue
		}
		if counts == "" {
			counts = "all ok"
		}
		column := ""
		if h.Whole {
			column = fmt.Sprintf("%d ", i+1)
		}
		t.line(indent, fmt.Sprintf("%s%s  %s (%s, %s)", column, term.Pad(host.ID, 16), counts, host.Title, host.Date))
		if h.Whole {
			for _, line := range h.reasons(i) {
				t.line(indent+2, t.st.Line(line))
			}
		}
	}
	if !h.Whole || len(h.Tools) == 0 {
		return
	}
	head := term.Pad("", toolColumn)
	for i := range h.Hosts {
		head += term.Pad(fmt.Sprint(i+1), 8)
	}
	t.b.WriteString("\n" + strings.TrimRight(head, " ") + "\n")
	for _, tool := range h.Tools {
		row := term.Pad(t.st.Cut(t.st.Line(tool.Tool), toolColumn-2), toolColumn)
		for _, c := range tool.Cells {
			row += t.paintWord(c.Verdict, 8)
		}
		t.b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
}
