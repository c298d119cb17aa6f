package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// A bill is what a server's list of tools costs a model, which has all of it in its
// context before it calls the first one.
type bill struct {
	Tools  []billed   `json:"tools"`
	Tokens int        `json:"tokens"`
	Bytes  billedSize `json:"bytes"`
	// BytesPerToken is how tokens are estimated: no model's own tokenizer is asked.
	BytesPerToken int `json:"bytesPerToken"`
}

type billed struct {
	Name   string     `json:"name"`
	Tokens int        `json:"tokens"`
	Bytes  billedSize `json:"bytes"`
}

// A billedSize is in bytes of JSON without blanks. Model is what clients hand to a
// model: name, description and inputSchema; All is the entry with everything else.
type billedSize struct {
	Model       int `json:"model"`
	Description int `json:"description"`
	InputSchema int `json:"inputSchema"`
	All         int `json:"all"`
}

// bytesPerToken is what a token is taken for. That of English prose is near; names and
// brackets make more tokens of a schema, other scripts make fewer or more.
const bytesPerToken = 4

func tokensOf(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

// billOf makes the bill of a list, the largest tool first.
func billOf(list client.List) bill {
	b := bill{Tools: []billed{}, BytesPerToken: bytesPerToken}
	for _, raw := range list.Items {
		members, err := wire.Object(raw)
		if err != nil {
			continue
		}
		one := billed{Name: members.Text("name")}
		model := json.RawMessage("{}")
		for _, name := range []string{"name", "description", "inputSchema"} {
			if value, ok := members.Get(name); ok {
				model = wire.With(model, name, wire.Compact(value))
			}
		}
		description, _ := members.Get("description")
		schema, _ := members.Get("inputSchema")
		one.Bytes = billedSize{Model: len(model), Description: len(description), InputSchema: len(wire.Compact(schema)), All: len(wire.Compact(raw))}
		one.Tokens = tokensOf(one.Bytes.Model)
		b.Tools = append(b.Tools, one)
		b.add(one)
	}
	slices.SortStableFunc(b.Tools, func(x, y billed) int { return y.Bytes.Model - x.Bytes.Model })
	return b
}

func (b *bill) add(one billed) {
	b.Tokens += one.Tokens
	b.Bytes.Model += one.Bytes.Model
	b.Bytes.Description += one.Bytes.Description
	b.Bytes.InputSchema += one.Bytes.InputSchema
	b.Bytes.All += one.Bytes.All
}

// bill lists the tools and prints what they cost.
func (a *app) bill(ctx context.Context, o listOptions) {
	c, out := a.open(ctx, opening{argv: o.argv})
	defer c.close(ctx)
	if !out.Good() {
		a.end(out)
		return
	}
	list, out := c.listed(ctx, toolKind, nil)
	b := billOf(list)
	raw, _ := json.Marshal(b)
	ans := answer{result: raw, messages: []*wire.Message{{Raw: raw}}, human: b.write}
	if a.output != "" && !a.json && a.jq == "" {
		ans.result = nil // a file gets what a person reads
	}
	a.show(ctx, c.lacking(out, toolKind.capability), ans)
	if out.Good() && !a.json && a.jq == "" && !a.wire {
		a.note(fmt.Sprintf("a token is taken for %d bytes of name, description and inputSchema, which clients hand to a model; ENTRY is all that the server sends", bytesPerToken))
	}
	c.explained(toolKind.method)
}

func (b bill) write(w io.Writer, st render.Style) error {
	var rows [][]string
	row := func(one billed) {
		share := 100
		if b.Bytes.Model > 0 {
			share = (100*one.Bytes.Model + b.Bytes.Model/2) / b.Bytes.Model
		}
		rows = append(rows, []string{one.Name, fmt.Sprint(one.Tokens), fmt.Sprintf("%d%%", share),
			fmt.Sprint(one.Bytes.Description), fmt.Sprint(one.Bytes.InputSchema), fmt.Sprint(one.Bytes.All)})
	}
	for _, one := range b.Tools {
		row(one)
	}
	row(billed{Name: fmt.Sprintf("all %d", len(b.Tools)), Tokens: b.Tokens, Bytes: b.Bytes})
	return render.Table(w, st, []string{"TOOL", "TOKENS", "SHARE", "DESCRIPTION", "SCHEMA", "ENTRY"}, rows)
}
