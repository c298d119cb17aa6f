package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
)

// A bill is the estimated cost of a server's list of tools for a model: the whole list is in the
// model's context before the model calls a tool.
type bill struct {
	Tools  []billed   `json:"tools"`
	Tokens int        `json:"tokens"`
	Bytes  billedSize `json:"bytes"`
	// BytesPerToken is the constant of the estimate. No tokenizer of a model is used.
	BytesPerToken int `json:"bytesPerToken"`
}

// A billed is the cost of one tool, or the sum of several.
type billed struct {
	Name   string     `json:"name"`
	Tokens int        `json:"tokens"`
	Bytes  billedSize `json:"bytes"`
	// AppOnly is set if the tool is only for its page and not for a model (MCP Apps).
	AppOnly bool `json:"appOnly,omitempty"`
}

// A billedSize has sizes in bytes of JSON without white space. Model is the size of the members
// that clients give to a model: name, description and inputSchema. All is the size of the whole
// entry.
type billedSize struct {
	Model       int `json:"model"`
	Description int `json:"description"`
	InputSchema int `json:"inputSchema"`
	All         int `json:"all"`
}

// bytesPerToken is the assumed number of bytes in a token. It is about right for English prose.
// Schemas have more tokens, because of names and brackets; other scripts have fewer or more.
const bytesPerToken = 4

// billOf returns the bill of a list of tools, the largest tool first. It skips entries that are not
// objects.
func billOf(list client.List) bill {
	b := bill{Tools: []billed{}, BytesPerToken: bytesPerToken}
	for _, raw := range list.Items {
		members, err := jsonraw.Object(raw)
		if err != nil {
			continue
		}
		one := billed{Name: members.Text("name")}
		model := json.RawMessage("{}") // the entry as a client gives it to a model
		for _, name := range []string{"name", "description", "inputSchema"} {
			if value, ok := members.Get(name); ok {
				model = jsonraw.With(model, name, jsonraw.Compact(value))
			}
		}
		description, _ := members.Get("description")
		schema, _ := members.Get("inputSchema")
		one.Bytes = billedSize{
			Model:       len(model),
			Description: len(description),
			InputSchema: len(jsonraw.Compact(schema)),
			All:         len(jsonraw.Compact(raw)),
		}
		meta, _ := members.Get("_meta")
		one.AppOnly = mcp.AppOnly(meta)
		if one.AppOnly {
			one.Bytes.Model = 0 // no model gets it
		}
		one.Tokens = (one.Bytes.Model + bytesPerToken - 1) / bytesPerToken // rounded up
		b.Tools = append(b.Tools, one)
		b.add(one)
	}
	sliceutil.Sort(b.Tools, func(x, y billed) int { return y.Bytes.Model - x.Bytes.Model })
	return b
}

// add adds the cost of one to the sums of the bill.
func (b *bill) add(one billed) {
	b.Tokens += one.Tokens
	b.Bytes.Model += one.Bytes.Model
	b.Bytes.Description += one.Bytes.Description
	b.Bytes.InputSchema += one.Bytes.InputSchema
	b.Bytes.All += one.Bytes.All
}

// runBill lists the tools and prints their bill.
func runBill(ctx context.Context, f *cmdutil.Factory, o listOptions) error {
	c, out := f.Open(ctx, connect.Options{Argv: o.argv})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	list, out := c.Listed(ctx, connect.ToolKind, nil)
	b := billOf(list)
	raw, _ := json.Marshal(b)
	ans := cmdutil.Document(raw, b.write)
	if f.Output != "" && !f.JSON && f.Jq == "" {
		ans.Result = nil // a file gets the text for people
	}
	err := cmdutil.Show(ctx, f, out, ans)
	if out.OK() {
		explainBill(f)
	}
	cmdutil.PrintExplanation(ctx, f, connect.ToolKind.Method)
	return err
}

// explainBill prints a note on the estimate, unless the output is JSON.
func explainBill(f *cmdutil.Factory) {
	if !f.PrintsJSON() {
		f.Note(
			fmt.Sprintf(
				"tokens are estimated at %d bytes of name, description and inputSchema; "+
					"ENTRY counts everything that the server sends",
				bytesPerToken,
			),
		)
	}
}

// write writes the table of the tools, with the sums in the last row.
func (b bill) write(w io.Writer, st term.Style) error {
	var rows [][]string
	for _, one := range b.Tools {
		name := one.Name
		if one.AppOnly {
			name += " (app only)"
		}
		rows = append(rows, append([]string{name}, b.cells(one)...))
	}
	rows = append(rows, append([]string{fmt.Sprintf("all %d", len(b.Tools))}, b.cells(b.sum())...))
	return term.Table(w, st, slices.Concat([]string{"TOOL"}, billHead), rows)
}

var billHead = []string{"TOKENS", "SHARE", "DESCRIPTION", "SCHEMA", "ENTRY"}

func (b bill) sum() billed { return billed{Tokens: b.Tokens, Bytes: b.Bytes} }

// cells returns the cells of a row of the table: the cost of one, and its share of the bill in
// percent, 100 in a bill without a cost.
func (b bill) cells(one billed) []string {
	share := 100
	if b.Bytes.Model > 0 {
		share = (100*one.Bytes.Model + b.Bytes.Model/2) / b.Bytes.Model
	}
	return []string{
		fmt.Sprint(one.Tokens), fmt.Sprintf("%d%%", share),
		fmt.Sprint(one.Bytes.Description), fmt.Sprint(one.Bytes.InputSchema), fmt.Sprint(one.Bytes.All),
	}
}

// A billOfAll is the cost of the tools of several servers.
type billOfAll struct {
	// Rows are the servers in the JSON of a survey. servers has the servers with a list of tools, the
	// largest first.
	Rows          json.RawMessage `json:"servers"`
	Tokens        int             `json:"tokens"`
	Bytes         billedSize      `json:"bytes"`
	BytesPerToken int             `json:"bytesPerToken"`
	servers       []serverBill
}

type serverBill struct {
	id string
	bill
}

// billOfServers returns the bill for the lists of a survey, which must be lists of tools. It leaves
// Rows nil.
func billOfServers(asked []*Surveyed) billOfAll {
	var sum bill
	all := billOfAll{BytesPerToken: bytesPerToken}
	for _, s := range asked {
		for _, l := range s.lists {
			b := serverBill{s.ID, billOf(l.List)}
			all.servers = append(all.servers, b)
			sum.add(b.sum())
		}
	}
	sliceutil.Sort(all.servers, func(x, y serverBill) int { return y.Bytes.Model - x.Bytes.Model })
	all.Tokens = sum.Tokens
	all.Bytes = sum.Bytes
	return all
}

// write writes the table of the servers, with the sums in the last row.
func (b billOfAll) write(w io.Writer, st term.Style) error {
	sum := bill{Tokens: b.Tokens, Bytes: b.Bytes}
	var rows [][]string
	tools := 0
	for _, s := range b.servers {
		tools += len(s.Tools)
		rows = append(rows, append([]string{s.id, fmt.Sprint(len(s.Tools))}, sum.cells(s.sum())...))
	}
	rows = append(
		rows,
		append([]string{fmt.Sprintf("all %d", len(b.servers)), fmt.Sprint(tools)}, sum.cells(sum.sum())...),
	)
	return term.Table(w, st, slices.Concat([]string{"SERVER", "TOOLS"}, billHead), rows)
}
