package diff

import (
	"cmp"
	"encoding/json"
	"math"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/sliceutil"
)

// bytesPerToken is what a token is taken for, as in "list --bill": near for English prose.
const bytesPerToken = 4

// A Cost is what a tool takes of a model's context: the bytes of its name, description and
// inputSchema as JSON without blanks, and an estimate of tokens, 4 bytes each.
type Cost struct {
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
}

// CostOf measures one entry of tools/list. A tool that only its own page may call (MCP Apps)
// costs a model nothing.
func CostOf(raw json.RawMessage) Cost {
	members, err := jsonraw.Object(raw)
	if err != nil || mcp.AppOnly(members.Value("_meta")) {
		return Cost{}
	}
	handed := json.RawMessage("{}")
	for _, name := range []string{"name", "description", "inputSchema"} {
		if value, ok := members.Get(name); ok {
			handed = jsonraw.With(handed, name, jsonraw.Compact(value))
		}
	}
	return Cost{len(handed), (len(handed) + bytesPerToken - 1) / bytesPerToken}
}

// A Growth is how the cost of a tool changed; Tool is "" for all of them together. A tool that
// was added or removed has no cost on the other side.
type Growth struct {
	Tool    string
	Was, Is Cost
}

// Percent is by how much the tokens grew, in percent with one decimal; a negative number says
// that they shrank. What had no cost before and has one now grew by 100.
func (g Growth) Percent() float64 {
	if g.Was.Tokens == 0 {
		return float64(100 * min(1, g.Is.Tokens))
	}
	return math.Round(1000*float64(g.Is.Tokens-g.Was.Tokens)/float64(g.Was.Tokens)) / 10
}

// Grown gives the tools whose cost changed, what grew most first, and the sum of all tools; none
// where the tools of a snapshot are not known.
func Grown(a, b Snapshot) (tools []Growth, sum Growth) {
	if a.Tools == nil || b.Tools == nil {
		return nil, sum
	}
	byName := map[string]*Growth{}
	var names []string
	count := func(items []json.RawMessage, in func(g *Growth) *Cost) {
		named, _ := parseEntries(Tool, items)
		for _, e := range named {
			if byName[e.name] == nil {
				byName[e.name] = &Growth{Tool: e.name}
				names = append(names, e.name)
			}
			cost := CostOf(e.raw)
			for _, to := range []*Cost{in(byName[e.name]), in(&sum)} {
				to.Bytes += cost.Bytes
				to.Tokens += cost.Tokens
			}
		}
	}
	count(a.Tools, func(g *Growth) *Cost { return &g.Was })
	count(b.Tools, func(g *Growth) *Cost { return &g.Is })
	for _, name := range names {
		if g := *byName[name]; g.Was != g.Is {
			tools = append(tools, g)
		}
	}
	sliceutil.Sort(tools, func(x, y Growth) int {
		return cmp.Or((y.Is.Tokens-y.Was.Tokens)-(x.Is.Tokens-x.Was.Tokens), cmp.Compare(x.Tool, y.Tool))
	})
	return tools, sum
}
