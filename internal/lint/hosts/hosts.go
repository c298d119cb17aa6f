// Package hosts knows what the model interfaces of hosts accept of a tool's definition:
// names, keywords, references, formats, sizes. What it knows is data (hosts.txt), each
// datum with its source and how sure it is. MCP itself allows more: what a host does not
// accept is no fault of a server, and a reason why its tool is missing there.
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

// A Mark says how a datum is known.
type Mark string

// The marks: read in the host's own code or reference, reported by others, contradictory.
const (
	Read   Mark = "read"
	Second Mark = "second"
	Unsure Mark = "unsure"
)

// A Datum is one thing that a host asks for.
type Datum struct {
	Kind  string
	Words []string
	Mark  Mark
	re    *regexp.Regexp
}

// A Host is a model interface.
type Host struct {
	ID, Title string
	// Date is when the data were true, Source where they were found.
	Date, Source string
	Data         []Datum
}

//go:embed hosts.txt
var table string

// All are the hosts of the table, in its order.
var All = sync.OnceValue(func() []Host {
	hosts, err := parse(table)
	if err != nil {
		panic(err) // a test reads the table
	}
	return hosts
})

var kinds = []string{"name", "property", "refuse", "change", "format", "need", "limit"}

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
		if err := hosts[len(hosts)-1].read(word, rest); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return hosts, nil
}

func (h *Host) read(word, rest string) (err error) {
	switch word {
	case "title":
		h.Title = rest
	case "date":
		h.Date = rest
	case "source":
		h.Source = rest
	default:
		words, mark, _ := strings.Cut(rest, " @")
		d := Datum{Kind: word, Words: strings.Fields(words), Mark: Mark(mark)}
		if !slices.Contains(kinds, word) || !slices.Contains([]Mark{Read, Second, Unsure}, d.Mark) || len(d.Words) == 0 {
			return fmt.Errorf("no datum: %s %s", word, rest)
		}
		if word == "name" || word == "property" {
			d.re, err = regexp.Compile(d.Words[0])
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

// rank orders verdicts.
var rank = map[Verdict]int{Accepted: 0, Changed: 1, Unclear: 2, Refused: 3}

// A Problem is a place in a tool's definition that a host refuses or changes.
type Problem struct {
	Verdict Verdict `json:"verdict"`
	At      string  `json:"at"`
	Text    string  `json:"text"`
	Mark    Mark    `json:"mark"`
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

// Matrix tells of each tool what each host does with it.
func Matrix(tools []json.RawMessage) (rows []Row) {
	for _, raw := range tools {
		name, _ := jsonraw.Text(jsonraw.First(raw, "name"))
		tree := schema.Walk(jsonraw.First(raw, "inputSchema"))
		row := Row{Tool: name}
		for _, h := range All() {
			cell := Cell{Host: h.ID, Verdict: Accepted, Problems: h.check(name, tree)}
			for _, p := range cell.Problems {
				if rank[p.Verdict] > rank[cell.Verdict] {
					cell.Verdict = p.Verdict
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// mostProblems bounds the problems of one tool with one host.
const mostProblems = 20

func (h Host) check(name string, tree *schema.Tree) (problems []Problem) {
	for _, d := range h.Data {
		tell := func(verdict Verdict, at, format string, args ...any) {
			if d.Mark == Unsure && verdict == Refused {
				verdict = Unclear
			}
			if len(problems) < mostProblems {
				problems = append(problems, Problem{verdict, at, fmt.Sprintf(format, args...), d.Mark})
			}
		}
		switch d.Kind {
		case "name":
			if !d.re.MatchString(name) {
				tell(Refused, "/name", "a name that does not match %s", d.Words[0])
			}
		case "limit":
			limit(d, tree, tell)
		default:
			for i := range tree.Nodes {
				d.look(&tree.Nodes[i], tell)
			}
			d.lookWhole(tree, tell)
		}
	}
	return problems
}

// IsOwnProperty reports whether a subschema is that of a property of the whole schema. The interfaces look at the names
// of these only: a name such as "$and" is accepted deeper in a schema.
func IsOwnProperty(n *schema.Node) bool {
	return n.Property != "" && strings.Count(n.At, "/") == 2
}

type teller func(verdict Verdict, at, format string, args ...any)

// look compares one subschema with a datum.
func (d *Datum) look(n *schema.Node, tell teller) {
	at := "/inputSchema" + n.At
	switch d.Kind {
	case "property":
		if IsOwnProperty(n) && !d.re.MatchString(n.Property) {
			tell(Refused, at, "a property name that does not match %s", d.Words[0])
		}
	case "refuse", "change":
		verdict := Refused
		if d.Kind == "change" {
			verdict = Changed
		}
		for _, m := range n.Members {
			if slices.Contains(d.Words, m.Name) {
				tell(verdict, at+"/"+m.Name, "%s", m.Name)
			}
		}
	case "format":
		if f := n.Members.Text("format"); f != "" && !slices.Contains(d.Words, f) {
			tell(Changed, at+"/format", "format %s", jsonraw.Excerpt([]byte(f), 40))
		}
	case "need":
		if n.Members.Value("properties") == nil && n.Members.Text("type") != "object" {
			return
		}
		properties, _ := jsonraw.Object(n.Members.Value("properties"))
		required := n.Members.Words("required")
		if slices.Contains(d.Words, "closed") && string(n.Members.Value("additionalProperties")) != "false" {
			tell(Refused, at, "additionalProperties is not false")
		}
		for _, p := range properties {
			if slices.Contains(d.Words, "all-required") && !required[p.Name] {
				tell(Refused, at+"/required", "%s is optional", jsonraw.Excerpt([]byte(p.Name), 40))
				break
			}
		}
	}
}

// lookWhole compares what only the whole schema shows.
func (d *Datum) lookWhole(tree *schema.Tree, tell teller) {
	if d.Kind != "need" || len(tree.Nodes) == 0 {
		return
	}
	for _, word := range d.Words {
		switch word {
		case "no-root-union":
			for _, k := range []string{"anyOf", "oneOf", "allOf"} {
				if tree.Nodes[0].Members.Value(k) != nil {
					tell(Refused, "/inputSchema/"+k, "%s at the root", k)
				}
			}
		case "no-boolean":
			for _, n := range Booleans(tree) {
				tell(Refused, "/inputSchema"+n.At, "a schema that is %s", n.Raw)
			}
		case "local-ref":
			for _, r := range tree.BadRefs() {
				if r.External {
					tell(Refused, "/inputSchema"+r.At, "a reference to %s", jsonraw.Excerpt([]byte(r.Target), 60))
				}
			}
		case "no-recursion":
			for _, n := range tree.Nodes {
				if target := n.Members.Text("$ref"); target != "" &&
					(target == "#" || strings.HasPrefix(n.At+"/", strings.TrimPrefix(target, "#")+"/")) {
					tell(Refused, "/inputSchema"+n.At+"/$ref", "a reference to itself")
				}
			}
		}
	}
}

// Booleans are the properties and items whose schema is true or false.
func Booleans(tree *schema.Tree) (nodes []schema.Node) {
	for _, n := range tree.Nodes {
		if n.Members == nil && (n.Property != "" || strings.HasSuffix(n.At, "/items")) && len(n.Raw) > 0 &&
			(n.Raw[0] == 't' || n.Raw[0] == 'f') {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func limit(d Datum, tree *schema.Tree, tell teller) {
	if len(d.Words) < 2 {
		return
	}
	most, _ := strconv.Atoi(d.Words[1])
	n := 0
	switch d.Words[0] {
	case "levels":
		n = tree.Depth()
	case "properties", "optional":
		for _, node := range tree.Nodes {
			if properties, _ := jsonraw.Object(node.Members.Value("properties")); d.Words[0] == "properties" {
				n += len(properties)
			} else {
				n += len(properties) - min(len(properties), len(node.Members.Words("required")))
			}
		}
	}
	if n > most {
		tell(Refused, "/inputSchema", "%d %s, more than %d", n, d.Words[0], most)
	}
}
