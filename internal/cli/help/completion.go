package help

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/client"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/mcp"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// bashCompletion is mcpc's own script: cobra's script needs the package bash-completion, and makes
// the shell evaluate the line that the user is typing.
//
//go:embed completion.bash
var bashCompletion string

// shells are the shells for which mcpc has a completion script.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// NewCompletion returns the command `mcpc completion SHELL`.
func NewCompletion(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "print the completion script for a shell",
		Long: `Print a completion script for a shell: it completes commands, flags and their
values, sessions, and what a session's server has listed: tools, their arguments
and values, prompts and resources. Completion uses the cached lists; no server
is contacted except the built-in demo server.

  bash        echo 'eval "$(mcpc completion bash)"' >> ~/.bashrc
  zsh         echo 'autoload -U compinit && compinit' >> ~/.zshrc
              echo 'source <(mcpc completion zsh)' >> ~/.zshrc
  fish        echo 'mcpc completion fish | source' >> ~/.config/fish/config.fish
  powershell  mcpc completion powershell | Out-String | Invoke-Expression

zsh needs compinit: omit the first zsh line if ~/.zshrc calls compinit already.

Names with characters that are special to the shell are omitted.`,
		Example: `  mcpc completion bash
  mcpc completion zsh
  mcpc completion fish
  mcpc completion powershell`,
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.New("completion takes the name of a shell", wire.Run("completion bash"))
			}
			if !slices.Contains(shells, args[0]) {
				all := wire.Run("completion " + strings.Join(shells, ", mcpc completion "))
				if slices.Contains([]string{"sh", "csh", "ksh", "tcsh", "dash"}, args[0]) { // not mistyped
					return usage.New("no script for the shell "+args[0], all)
				}
				return usage.New(
					"no script for the shell "+arguments.Shortened(args[0]),
					suggest.DidYouMean(wire.Run("completion %s"), args[0], shells, all),
				)
			}
			script := bashCompletion
			if args[0] != "bash" {
				script = safeScript(cmd.Root(), args[0])
			}
			err := f.WriteOut(func(w io.Writer) error {
				_, err := io.WriteString(w, script)
				return err
			})
			if err != nil {
				return f.WriteError("writing the script", usage.Bare(err))
			}
			return nil
		},
	}
}

// Evaluations has, by shell, the text in cobra's script that makes the shell evaluate the line that
// the user is typing, and its replacement, with which TAB runs only mcpc.
var Evaluations = map[string][2]string{
	"zsh": {
		"    out=$(eval ${requestComp} 2>/dev/null)\n",
		"    local -a asked\n    asked=(\"${(@Q)${(z)requestComp}}\")\n    out=$(\"${asked[@]}\" 2>/dev/null)\n",
	},
	"fish": {
		"    set -l results (eval $requestComp 2> /dev/null)\n",
		"    set -l typed (commandline -ct)\n" +
			"    set -l results (MCPC_ACTIVE_HELP=0 $args[1] __complete $args[2..-1] \"$typed\" 2> /dev/null)\n",
	},
	// Invoke-Expression evaluates expressions, so a line with an expression is not completed.
	"powershell": {
		"    # Get the current command line and convert into a string\n",
		`    foreach ($Element in $CommandAst.CommandElements) {
        if ($Element -is [System.Management.Automation.Language.CommandParameterAst] -and` +
			` -not $Element.Argument) { continue }
        if ($Element.GetType().Name -ne 'StringConstantExpressionAst' -and` +
			` $Element.GetType().Name -ne 'ConstantExpressionAst') { return }
    }

    # Get the current command line and convert into a string
`,
	},
}

// safeScript returns cobra's completion script for a shell, with the replacement from Evaluations:
// the script evaluates nothing that the user types.
func safeScript(root *cobra.Command, shell string) string {
	var b strings.Builder
	switch shell {
	case "zsh":
		_ = root.GenZshCompletion(&b)
	case "fish":
		_ = root.GenFishCompletion(&b, true)
	default:
		_ = root.GenPowerShellCompletionWithDesc(&b)
	}
	return strings.Replace(b.String(), Evaluations[shell][0], Evaluations[shell][1], 1)
}

// OwnFirst changes cobra's completion command: it offers a command's own flags first, then the
// flags of all commands in the order of help. cobra itself offers the flags of all commands first.
func OwnFirst(complete *cobra.Command) {
	offer := complete.Run
	complete.Run = func(cmd *cobra.Command, args []string) {
		var offered bytes.Buffer
		root := cmd.Root()
		out := cmd.OutOrStdout()
		root.SetOut(&offered)
		offer(cmd, args)
		lines := strings.SplitAfter(strings.TrimSuffix(offered.String(), "\n"), "\n")
		if last := len(lines) - 1; strings.HasPrefix(lines[0], "-") {
			for i := range lines {
				lines[i] = strings.ReplaceAll(lines[i], "`", "") // around the name of the value
			}
			sliceutil.Sort(lines[:last], func(x, y string) int { return cmp.Compare(globalRank(root, x), globalRank(root, y)) })
			lines[last] = fmt.Sprint(":", int(cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder))
		}
		_, _ = io.WriteString(out, strings.Join(lines, "")+"\n")
	}
}

// globalRank returns the position in GlobalGroups of the flag in a line of cobra's completions; -1
// if the flag is not a flag of all commands. The line is not empty.
func globalRank(root *cobra.Command, line string) int {
	name := strings.TrimLeft(strings.Fields(line)[0], "-")
	if f := root.PersistentFlags().ShorthandLookup(name[:1]); f != nil && len(name) == 1 {
		name = f.Name
	}
	var names []string
	for _, g := range GlobalGroups {
		names = append(names, strings.Fields(g.Names)...)
	}
	return slices.Index(names, name)
}

// AddCompletions prepares the commands for completion. It completes words after -- as file names,
// and also the words of a command that declares no completion. It adds the values of the flags that
// all commands have.
func AddCompletions(f *cmdutil.Factory, root *cobra.Command) {
	files := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	// cobra cannot report the position of --: it adds a -- of its own to the line.
	afterDashes := slices.Contains(f.Args[:len(f.Args)-1], "--")
	for _, cmd := range AllOf(root) {
		if afterDashes && cmd.ValidArgsFunction != nil ||
			cmd.Parent() == root && cmd.ValidArgs == nil && cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() {
			cmd.ValidArgsFunction = files
		}
	}
	for name, complete := range map[string]cmdutil.Completer{
		"server": f.CompleteServer, "protocol": cmdutil.CompleteFixed(client.Revisions()...),
		"color": cmdutil.CompleteFixed(console.ColorWords...), "confirm": cmdutil.CompleteFixed(toolcall.ConfirmWords...),
		"images": cmdutil.CompleteFixed(console.Drawings...), "log-level": cmdutil.CompleteFixed(mcp.LogLevels...),
	} {
		_ = root.RegisterFlagCompletionFunc(name, complete)
	}
}
