package verdict

import (
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/render/term"
)

// Hosts says how the model interfaces of hosts accept the tools of a server. A tool that one does
// not accept breaks no rule.
type Hosts struct {
	Hosts []Host     `json:"hosts"`
	Tools []HostTool `json:"tools"`
	// Whole is true if the report for a person shows each tool, not only how many there are.
	Whole bool `json:"-"`
}

// A Host is a model interface, with the date and the source of mcpc's knowledge about it.
type Host struct {
	ID     string `json:"host"`
	Title  string `json:"title"`
	Date   string `json:"date"`
	Source string `json:"source"`
}

// A HostTool is a tool with a cell for each host, in the order of the hosts.
type HostTool struct {
	Tool  string     `json:"tool"`
	Cells []HostCell `json:"cells"`
}

// A HostCell has a host's verdict about a tool, "ok" or an element of verdictWords, and the
// reasons.
type HostCell struct {
	Host    string   `json:"host"`
	Verdict string   `json:"verdict"`
	Reasons []string `json:"reasons,omitempty"`
}

// verdictWords are the verdicts other than "ok", the worst first.
var verdictWords = []string{"refused", "unclear", "changed"}

// visibleTools returns the tools with a verdict other than "ok", or all tools if h.Whole.
func (h *Hosts) visibleTools() []HostTool {
	var tools []HostTool
	for _, t := range h.Tools {
		if h.Whole || slices.ContainsFunc(t.Cells, func(c HostCell) bool { return c.Verdict != OK }) {
			tools = append(tools, t)
		}
	}
	return tools
}

// verdictCounts returns the numbers of a host's tools for each verdict other than "ok" as a text, or
// "" if all are "ok".
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

// reasons returns why a host does not accept tools unchanged: a line for each reason, with its first
// tool and the number of the others.
func (h *Hosts) reasons(host int) []string {
	tools := map[string][]string{} // by reason
	var order []string
	for _, t := range h.Tools {
		for _, reason := range t.Cells[host].Reasons {
			if tools[reason] == nil {
				order = append(order, reason)
			}
			if !slices.Contains(tools[reason], t.Tool) {
				tools[reason] = append(tools[reason], t.Tool)
			}
		}
	}
	var lines []string
	for _, reason := range order[:min(maxReasons, len(order))] {
		line := reason + ": " + tools[reason][0]
		if n := len(tools[reason]) - 1; n > 0 {
			line += fmt.Sprintf(" and %d more", n)
		}
		lines = append(lines, line)
	}
	if n := len(order) - maxReasons; n > 0 {
		lines = append(lines, fmt.Sprintf("%d more reasons (--json)", n))
	}
	return lines
}

const (
	// maxReasons limits the reasons of one host in the report for a person.
	maxReasons = 6
	// toolColumn is the width of the names of tools in the matrix.
	toolColumn = 36
)

// writeHosts adds how many tools each host does not accept unchanged, and the whole matrix if h.Whole.
func (t *textWriter) writeHosts(h *Hosts) {
	if h == nil {
		return
	}
	isAllOK := !h.Whole && len(h.visibleTools()) == 0 // all hosts accept all tools unchanged
	if isAllOK {
		return
	}
	advice := " (--hosts shows which)"
	if h.Whole {
		advice = ""
	}
	t.b.WriteByte('\n')
	tools := english.Plural(len(h.Tools), "tool")
	t.writeLine(0, t.st.Strong("hosts")+"  "+tools+", checked against the limits of model interfaces"+advice)
	for i, host := range h.Hosts {
		countsText := h.verdictCounts(i)
		if countsText == "" && !h.Whole {
			continue
		}
		if countsText == "" {
			countsText = "all ok"
		}
		column := ""
		if h.Whole {
			column = fmt.Sprintf("%d ", i+1)
		}
		id := term.Pad(host.ID, 16)
		t.writeLine(indent, fmt.Sprintf("%s%s  %s (%s, %s)", column, id, countsText, host.Title, host.Date))
		if h.Whole {
			for _, line := range h.reasons(i) {
				t.writeLine(indent+2, t.st.Line(line))
			}
		}
	}
	if h.Whole && len(h.Tools) > 0 {
		t.writeHostMatrix(h)
	}
}

// writeHostMatrix adds a table of tools and hosts.
func (t *textWriter) writeHostMatrix(h *Hosts) {
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
