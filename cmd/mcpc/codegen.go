package main

import (
	"context"
	"fmt"
	"go/token"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/codegen"
	"mcpc/internal/render"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// codegenOptions are what `mcpc codegen` was asked.
type codegenOptions struct {
	goCode, tsCode bool
	pkg            string
	argv           []string
}

func newCodegen(a *app) *cobra.Command {
	var o codegenOptions
	cmd := &cobra.Command{
		Use:   "codegen --go | --ts [URL] [-- COMMAND...]",
		Short: "generate typed wrappers of a server's tools, in Go or TypeScript",
		Long: `Generate code that calls a server's tools: one method per tool, with types from
its inputSchema and outputSchema. The code runs mcpc call --json and needs only
mcpc on the path; an error has the kind and exit code of mcpc.

Go code needs Go 1.24 and its standard library; TypeScript runs without a
compiler in Node 22.18, 23.6 or later. The code names the server that it was
generated from, unless its URL contains a secret. The same list of tools gives
the same code.`,
		Example: `  mcpc -s demo codegen --go -o tools.go
  mcpc -s demo codegen --ts -o tools.ts
  mcpc codegen --go --package weather -- mcpc demo --stdio`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, argv := splitDash(cmd, args)
			o.argv = argv
			if err := a.onlyURL(cmd, own, argv); err != nil {
				return err
			}
			switch {
			case o.goCode == o.tsCode:
				return hinted("choose one language: --go or --ts", wire.There("codegen --go")+", or --ts")
			case a.json || a.wire || a.jq != "":
				return hinted("codegen prints code, not JSON", wire.There("list --json")+" prints the definitions")
			case !token.IsIdentifier(o.pkg) || o.pkg != strings.ToLower(o.pkg):
				return hinted(fmt.Sprintf("%q is not a package name", o.pkg), "--package tools")
			}
			a.codegen(cmd.Context(), o)
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.goCode, "go", false, "write Go")
	f.BoolVar(&o.tsCode, "ts", false, "write TypeScript")
	f.StringVar(&o.pkg, "package", "tools", "Go package `name`")
	return cmd
}

func (a *app) codegen(ctx context.Context, o codegenOptions) {
	c, out := a.open(ctx, opening{argv: o.argv, greet: true})
	defer a.close(ctx, c)
	if !out.Good() {
		a.end(out)
		return
	}
	all, out := c.tools(ctx, nil)
	if !out.Good() {
		a.end(out)
		return
	}
	src := codegen.Source{Server: a.secrets.Text(c.named()), Tools: unique(all.tools)}
	c.aimCode(&src)
	var code []byte
	var left []codegen.LeftOut
	if o.tsCode {
		code, left = codegen.TypeScript(src)
	} else {
		code, left = codegen.Go(src, o.pkg)
	}
	for _, text := range ambiguous(all.tools) {
		a.warn(text)
	}
	for _, l := range append(mapped(all.leftOut, asLeftOut), left...) {
		a.warn(l.Name + " is omitted: " + l.Why)
	}
	if err := a.writeOut(func(w io.Writer) error {
		_, err := w.Write(code)
		return err
	}); err != nil {
		a.end(a.afterwards(localIO("writing the code", bare(err))))
	}
}

// named is how the server calls itself, and where it is.
func (c *conversation) named() string {
	info, _ := wire.Object(c.Info().ServerInfo)
	name := strings.TrimSpace(info.Text("name") + " " + info.Text("version"))
	if name == "" {
		return c.where
	}
	return name + " (" + c.where + ")"
}

// aimCode says in the code which server it calls, unless a secret is in that.
func (c *conversation) aimCode(src *codegen.Source) {
	t := c.target
	switch {
	case t.Kind == target.Command && slices.Equal(wire.RedactCommand(t.Command), t.Command):
		src.Command = t.Command
	case t.Kind != target.Command && wire.RedactURL(t.String()) == t.String():
		src.Target = t.String()
	}
	if words := src.Target + strings.Join(src.Command, " "); words == "" || c.a.secrets.Text(words) != words {
		src.Target, src.Command = "", nil
		c.a.ui.note("the server's URL contains a secret and is omitted from the code: set Server, or MCPC_SERVER")
	}
}

// unique leaves out tools of which there are two with one name: none of them is
// called.
func unique(tools []wire.Tool) (some []wire.Tool) {
	times := map[string]int{}
	for _, t := range tools {
		times[t.Name]++
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t wire.Tool) bool { return times[t.Name] > 1 })
}

func asLeftOut(l leftOut) codegen.LeftOut {
	return codegen.LeftOut{Name: render.Line(l.name), Why: l.why}
}
