// Package hosts says which definitions of tools the model interfaces of hosts accept: names,
// keywords, references, formats, sizes. The requirements are in hosts.txt, with their sources and how
// certain they are. MCP itself allows more: a definition that a host refuses is no fault of the
// server, but the reason why the tool is missing in the host.
package hosts

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
)

// A Certainty is how certain a requirement is.
type Certainty string

// The certainties: read in the host's own code or reference, reported by others, contradictory.
const (
	Read   Certainty = "read"
	Second Certainty = "second"
	Unsure Certainty = "unsure"
)

// A Requirement is something that a host requires of the definitions of tools. Kind is an element
// of kinds; the meaning of Words depends on it: a regular expression for names (name, property),
// keywords (refuse, change), known formats (format), conditions on schemas (need), a size and its
// name (limit).
type Requirement struct {
	Kind      string
	Words     []string
	Certainty Certainty
	pattern   *regexp.Regexp
}

// A Host is a model interface.
type Host struct {
	ID, Title string
	// Date is when the data were true; Source is where they were found.
	Date, Source string
	Data         []Requirement
}

//go:embed hosts.txt
var table string

// All returns the hosts in the order of the table.
var All = sync.OnceValue(func() []Host {
	hosts, err := parse(table)
	if err != nil {
		panic(err) // a test reads the table
	}
	return hosts
})

var kinds = []string{"name", "property", "refuse", "change", "format", "need", "limit"}

// parse parses the table of hosts.
func parse(text string) (hosts []Host, err error) {
	for n, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "" || word[0] == '#' {
			continue
		}
		if word == "host" {
			hosts = append(hosts, Host{ID: rest})
			continue
		}
		if len(hosts) == 0 {
			return nil, fmt.Errorf("line %d: before the first host", n+1)
		}
		if err := hosts[len(hosts)-1].parseLine(word, rest); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return hosts, nil
}

// parseLine adds one line of the table to the host.
func (h *Host) parseLine(word, rest string) error {
	var err error
	switch word {
	case "title":
		h.Title = rest
	case "date":
		h.Date = rest
	case "source":
		h.Source = rest
	default:
		words, mark, _ := strings.Cut(rest, " @")
		d := Requirement{Kind: word, Words: strings.Fields(words), Certainty: Certainty(mark)}
		isCertainty := slices.Contains([]Certainty{Read, Second, Unsure}, d.Certainty)
		if !slices.Contains(kinds, word) || !isCertainty || len(d.Words) == 0 {
			return fmt.Errorf("no datum: %s %s", word, rest)
		}
		if word == "name" || word == "property" {
			d.pattern, err = regexp.Compile(d.Words[0])
		}
		h.Data = append(h.Data, d)
	}
	return err
}

// A Verdict is what a host does with a tool.
type Verdict string

// The verdicts, the best first. Unclear is a refusal that is not certain.
const (
	Accepted Verdict = "ok"
	Changed  Verdict = "changed"
	Unclear  Verdict = "unclear"
	Refused  Verdict = "refused"
)

// verdictRank orders verdicts, the best first.
var verdictRank = map[Verdict]int{Accepted: 0, Changed: 1, Unclear: 2, Refused: 3}

// A Problem is a place in a tool's definition that a host refuses or changes.
type Problem struct {
	Verdict   Verdict   `json:"verdict"`
	Pointer   string    `json:"at"`
	Text      string    `json:"text"`
	Certainty Certainty `json:"mark"`
}

// A Cell is what one host does with one tool, and why.
type Cell struct {
	Host     string    `json:"host"`
	Verdict  Verdict   `json:"verdict"`
	Problems []Problem `json:"problems,omitempty"`
}

// A Row has a cell for each host, in the order of All.
type Row struct {
	Tool  string `json:"tool"`
	Cells []Cell `json:"cells"`
}

// Matrix returns a row for each tool: what each host does with it.
func Matrix(tools []json.RawMessage) []Row {
	var rows []Row
	for _, raw := range tools {
		name, _ := jsonraw.Text(jsonraw.First(raw, "name"))
		tree := schema.Walk(jsonraw.First(raw, "inputSchema"))
		row := Row{Tool: name}
		for _, h := range All() {
			cell := Cell{Host: h.ID, Verdict: Accepted, Problems: h.findProblems(name, tree)}
			for _, p := range cell.Problems {
				if verdictRank[p.Verdict] > verdictRank[cell.Verdict] {
					cell.Verdict = p.Verdict
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// maxProblems bounds the problems of one tool with one host.
const maxProblems = 20

// findProblems returns the limits of the host that a tool with this name and schema exceeds, at most maxProblems.
// A limit that is not documented for certain gives Unclear in place of Refused.
func (h Host) findProblems(name string, tree *schema.Tree) []Problem {
	var problems []Problem
	for _, d := range h.Data {
		report := func(verdict Verdict, at, format string, args ...any) {
			if d.Certainty == Unsure && verdict == Refused {
				verdict = Unclear
			}
			if len(problems) < maxProblems {
				problems = append(problems, Problem{verdict, at, fmt.Sprintf(format, args...), d.Certainty})
			}
		}
		switch d.Kind {
		case "name":
			if !d.pattern.MatchString(name) {
				report(Refused, "/name", "a name that does not match %s", d.Words[0])
			}
		case "limit":
			checkLimit(d, tree, report)
		default:
			for i := range tree.Nodes {
				d.checkNode(&tree.Nodes[i], report)
			}
			d.checkTree(tree, report)
		}
	}
	return problems
}

// IsOwnProperty reports whether a subschema is a direct property of the tool's input. Hosts check
// only the names of direct properties: a name such as "$and" is accepted deeper in a schema.
func IsOwnProperty(n *schema.Node) bool {
	return n.Property != "" && strings.Count(n.Pointer, "/") == 2
}

type reporter func(verdict Verdict, at, format string, args ...any)

// checkNode reports where a subschema does not meet the requirement.
func (d *Requirement) checkNode(n *schema.Node, report reporter) {
	at := "/inputSchema" + n.Pointer
	switch d.Kind {
	case "property":
		if IsOwnProperty(n) && !d.pattern.MatchString(n.Property) {
			report(Refused, at, "a property name that does not match %s", d.Words[0])
		}
	case "refuse", "change":
		verdict := Refused
		if d.Kind == "change" {
			verdict = Changed
		}
		for _, m := range n.Members {
			if slices.Contains(d.Words, m.Name) {
				report(verdict, at+"/"+m.Name, "%s", m.Name)
			}
		}
	case "format":
		if f := n.Members.Text("format"); f != "" && !slices.Contains(d.Words, f) {
			report(Changed, at+"/format", "format %s", jsonraw.Excerpt([]byte(f), 40))
		}
	case "need":
		if n.Members.Value("properties") == nil && n.Members.Text("type") != "object" {
			return // the needs are about schemas of objects
		}
		properties, _ := jsonraw.Object(n.Members.Value("properties"))
		required := n.Members.Words("required")
		if slices.Contains(d.Words, "closed") && string(n.Members.Value("additionalProperties")) != "false" {
			report(Refused, at, "additionalProperties is not false")
		}
		if !slices.Contains(d.Words, "all-required") {
			return
		}
		for _, p := range properties {
			if !required[p.Name] {
				report(Refused, at+"/required", "%s is optional", jsonraw.Excerpt([]byte(p.Name), 40))
				break // one is enough
			}
		}
	}
}

// checkTree reports where a schema breaks a requirement for the whole of it.
func (d *Requirement) checkTree(tree *schema.Tree, report reporter) {
	if d.Kind != "need" || len(tree.Nodes) == 0 {
		return
	}
	for _, word := range d.Words {
		switch word {
		case "no-root-union":
			for _, k := range []string{"anyOf", "oneOf", "allOf"} {
				if tree.Nodes[0].Members.Value(k) != nil {
					report(Refused, "/inputSchema/"+k, "%s at the root", k)
				}
			}
		case "no-boolean":
			for _, n := range Booleans(tree) {
				report(Refused, "/inputSchema"+n.Pointer, "a schema that is %s", n.Raw)
			}
		case "local-ref":
			for _, r := range tree.BadRefs() {
				if r.External {
					report(Refused, "/inputSchema"+r.Pointer, "a reference to %s", jsonraw.Excerpt([]byte(r.Target), 60))
				}
			}
		case "no-recursion":
			for _, n := range tree.Nodes {
				target := n.Members.Text("$ref")
				// The target contains the reference.
				isInside := strings.HasPrefix(n.Pointer+"/", strings.TrimPrefix(target, "#")+"/")
				if target != "" && (target == "#" || isInside) {
					report(Refused, "/inputSchema"+n.Pointer+"/$ref", "a reference to itself")
				}
			}
		}
	}
}

// Booleans returns the properties and items whose schema is true or false.
func Booleans(tree *schema.Tree) []schema.Node {
	var nodes []schema.Node
	for _, n := range tree.Nodes {
		isBoolean := n.Members == nil && len(n.Raw) > 0 && (n.Raw[0] == 't' || n.Raw[0] == 'f')
		if isBoolean && (n.Property != "" || strings.HasSuffix(n.Pointer, "/items")) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// checkLimit compares the schema with a limit: of levels, properties, or optional properties.
func checkLimit(d Requirement, tree *schema.Tree, report reporter) {
	if len(d.Words) < 2 {
		return
	}
	unit := d.Words[0]
	limit, _ := strconv.Atoi(d.Words[1])
	n := 0
	switch unit {
	case "levels":
		n = tree.Depth()
	case "properties", "optional":
		for _, node := range tree.Nodes {
			properties, _ := jsonraw.Object(node.Members.Value("properties"))
			n += len(properties)
			if unit == "optional" {
				n -= min(len(properties), len(node.Members.Words("required")))
			}
		}
	}
	if n > limit {
		report(Refused, "/inputSchema", "%d %s, more than %d", n, unit, limit)
	}
}
