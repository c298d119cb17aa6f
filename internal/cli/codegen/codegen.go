// Package codegen has the command codegen.
package codegen

import (
	"context"
	"fmt"
	"go/token"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/codegen"
	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// codegenOptions are the flags and the server's command of `mcpc codegen`.
type codegenOptions struct {
	goCode, tsCode, cli bool
	types               bool
	pkg                 string
	argv                []string
}

// NewCodegen returns the command `mcpc codegen`.
func NewCodegen(f *cmdutil.Factory) *cobra.Command {
	var o codegenOptions
	cmd := &cobra.Command{
		Use:   "codegen --go | --ts | --cli [URL] [-- COMMAND...]",
		Short: "generate code that calls a server's tools",
		Long: `Generate code that calls a server's tools. The code needs only mcpc in the PATH;
its errors have the kinds and exit codes of mcpc.

--go writes a package with one method per tool, and types from its inputSchema
and outputSchema; each call runs an mcpc process. It needs Go 1.24 and its
standard library. --ts writes a module that keeps one connection; it runs
without a compiler in Node 22.18, 23.6 or later. --types writes only the types.
--cli writes a POSIX shell script: a command with a subcommand for each tool,
and a flag for each argument.

The code names the server that it was generated from, unless its URL contains a
secret. The same list of tools always produces the same code.`,
		Example: `  mcpc -s demo codegen --go -o tools.go
  mcpc -s demo codegen --ts -o tools.ts
  mcpc -s demo codegen --ts --types
  mcpc -s demo codegen --cli -o tools.sh
  mcpc codegen --go --package weather -- mcpc demo --stdio`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			o.argv, err = meant.OnlyURL(f, cmd, args) // the command after --; a URL is the only other argument
			if err != nil {
				return err
			}
			languages := 0
			for _, chosen := range []bool{o.goCode, o.tsCode, o.cli} {
				if chosen {
					languages++
				}
			}
			if languages != 1 {
				return usage.New("choose one language: --go, --ts or --cli", wire.RunOnServer("codegen --go")+", --ts or --cli")
			}
			if o.types && o.cli {
				return usage.New("a shell script has no types", "--types needs --go or --ts")
			}
			if !o.goCode && cmd.Flags().Changed("package") {
				return usage.New("only Go code has a package name", "--package needs --go")
			}
			if f.JSON || f.Wire || f.Jq != "" {
				return usage.New("codegen prints code, not JSON", wire.RunOnServer("list --json")+" prints the definitions")
			}
			if !token.IsIdentifier(o.pkg) || o.pkg != strings.ToLower(o.pkg) {
				return usage.New(fmt.Sprintf("%q is not a package name", o.pkg), "--package tools")
			}
			return runCodegen(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.goCode, "go", false, "write Go")
	flags.BoolVar(&o.tsCode, "ts", false, "write TypeScript")
	flags.BoolVar(&o.cli, "cli", false, "write a command as a shell script")
	flags.BoolVar(&o.types, "types", false, "write only the types")
	flags.StringVar(&o.pkg, "package", "tools", "Go package `name`")
	f.AddAnswering(flags) // the server may send requests while its tools are listed
	return cmd
}

// runCodegen lists the tools of the server and writes the code. It warns of tools that are left
// out, of ambiguous names, and of secrets in the code.
func runCodegen(ctx context.Context, f *cmdutil.Factory, o codegenOptions) error {
	c, out := f.Open(ctx, connect.Options{Argv: o.argv, RequireServerInfo: true})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	all, out := c.Tools(ctx, nil) // nil: all pages
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	src := codegen.Source{Server: f.Secrets.Text(describeServer(c)), Tools: connect.Unique(all.Tools)}
	setTarget(c, &src)
	var code []byte
	var omitted []codegen.Omitted
	src.OnlyTypes = o.types
	if o.tsCode {
		code, omitted = codegen.TypeScript(src)
	} else if o.cli {
		code, omitted = codegen.Shell(src)
	} else {
		code, omitted = codegen.Go(src, o.pkg)
	}
	for _, text := range connect.Ambiguous(connect.ToolNames(all.Tools)) {
		f.Warn(text)
	}
	for _, l := range append(sliceutil.Map(all.LeftOut, omittedTool), omitted...) {
		f.Warn(l.Name + " is omitted: " + l.Reason)
	}
	if f.Secrets.Holds(code) {
		f.Warn("the server's definitions have a secret, which is in the code: look at it before you share it")
	}
	err := f.WriteOut(func(w io.Writer) error {
		_, err := w.Write(code)
		return err
	})
	if err != nil {
		return f.WriteError("writing the code", usage.Bare(err))
	}
	return nil
}

// describeServer returns the name and version that the server declares, followed by its address in
// parentheses, or only its address.
func describeServer(c *connect.Conn) string {
	info, _ := jsonraw.Object(c.Info().ServerInfo)
	name := strings.TrimSpace(info.Text("name") + " " + info.Text("version"))
	if name == "" {
		return c.Where
	}
	return name + " (" + c.Where + ")"
}

// setTarget sets the server that the generated code calls: src.Command or src.Target. If they contain
// a secret, it leaves both empty and prints a note.
func setTarget(c *connect.Conn, src *codegen.Source) {
	t := c.Target
	what := "URL"
	text := t.String()
	looksSecret := redact.RedactURL(text) != text
	if t.Kind == target.Command {
		what = "command"
		text = strings.Join(t.Command, " ")
		looksSecret = !slices.Equal(redact.RedactCommand(t.Command), t.Command)
	}
	isKnownSecret := c.Env.Secrets.Text(text) != text
	if looksSecret || isKnownSecret || text == "" {
		c.Env.UI.Note("the server's " + what + " contains a secret and is omitted from the code: set Server, or MCPC_SERVER")
		return
	}
	if t.Kind == target.Command {
		src.Command = t.Command
	} else {
		src.Target = text
	}
}

// omittedTool converts a LeftOut of a list, with a name that is safe for the terminal.
func omittedTool(l connect.LeftOut) codegen.Omitted {
	return codegen.Omitted{Name: term.Line(l.Name), Reason: l.Why}
}
