package diff

import (
	"cmp"
	"encoding/json"
	"math"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/sliceutil"
)

// bytesPerToken is the estimated size of a token, also in "list --bill". It is close for English
// prose.
const bytesPerToken = 4

// A Cost is the share of a tool in a model's context: the bytes of its name, description and
// inputSchema as compact JSON, and the estimated number of tokens.
type Cost struct {
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
}

// CostOf returns the cost of one entry of tools/list. A tool that only an MCP App may call costs
// nothing, since models never see it.
func CostOf(raw json.RawMessage) Cost {
	members, err := jsonraw.Object(raw)
	if err != nil || mcp.AppOnly(members.Value("_meta")) {
		return Cost{}
	}
	context := json.RawMessage("{}") // what a client passes to a model
	for _, name := range []string{"name", "description", "inputSchema"} {
		if value, ok := members.Get(name); ok {
			context = jsonraw.With(context, name, jsonraw.Compact(value))
		}
	}
	return Cost{Bytes: len(context), Tokens: (len(context) + bytesPerToken - 1) / bytesPerToken} // rounded up
}

// A Growth is the cost of a tool before and after. Tool is "" in the sum of all tools. The cost is
// zero if the tool does not exist.
type Growth struct {
	Tool    string
	Was, Is Cost
}

// Percent returns the growth of the tokens in percent with one decimal, negative if they shrank.
// It returns 100 if the cost was zero before and is not now.
func (g Growth) Percent() float64 {
	if g.Was.Tokens == 0 {
		return float64(100 * min(1, g.Is.Tokens))
	}
	return math.Round(1000*float64(g.Is.Tokens-g.Was.Tokens)/float64(g.Was.Tokens)) / 10
}

// Grown returns the tools whose cost changed, the largest growth first, and the sum of all tools.
// It returns nothing if the tools of a snapshot are unknown.
func Grown(a, b Snapshot) (tools []Growth, sum Growth) {
	if a.Tools == nil || b.Tools == nil {
		return nil, sum
	}
	byName := map[string]*Growth{}
	var names []string
	// addCosts adds the cost of each tool to one side, Was or Is, of its growth and of the sum.
	addCosts := func(items []json.RawMessage, field func(g *Growth) *Cost) {
		named, _ := parseEntries(Tool, items)
		for _, e := range named {
			if byName[e.name] == nil {
				byName[e.name] = &Growth{Tool: e.name}
				names = append(names, e.name)
			}
			cost := CostOf(e.raw)
			for _, total := range []*Cost{field(byName[e.name]), field(&sum)} {
				total.Bytes += cost.Bytes
				total.Tokens += cost.Tokens
			}
		}
	}
	addCosts(a.Tools, func(g *Growth) *Cost { return &g.Was })
	addCosts(b.Tools, func(g *Growth) *Cost { return &g.Is })
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
