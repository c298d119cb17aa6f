package help

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/sliceutil"
)

// The texts of help: -h fits on a screen, --help is complete. cobra's templates are not used: they
// would make every start of the program slower.

// Help writes the help of a command or topic to standard output: the short help for -h and for mcpc
// without a command, else the full help in the pager.
func Help(f *cmdutil.Factory, cmd *cobra.Command, _ []string) {
	if f.Shell == nil {
		_ = cmdutil.SetFlagsFromEnvironment(cmd, f.Getenv) // for MCPC_NO_PAGER: --help runs before prepare
	}
	own := cmdutil.BeforeDashes(f.Args)
	short := slices.Contains(own, "-h") || !cmd.HasParent() && !slices.Contains(own, "help")
	switch {
	case IsTopic(cmd):
		_ = f.WritePaged([]byte(TopicText(cmd, f.OutStyle)))
	case short && !slices.Contains(own, "--help"):
		_, _ = f.Stdout().Write([]byte(HelpText(f, cmd, true)))
	default:
		_ = f.WritePaged([]byte(HelpText(f, cmd, false)))
	}
}

// HelpText returns the help of a command: for -h if short is set, else for --help.
func HelpText(f *cmdutil.Factory, cmd *cobra.Command, short bool) string {
	if !cmd.HasParent() {
		return rootText(f.Groups(), cmd, short)
	}
	var b strings.Builder
	text := cmd.Long
	if text == "" {
		text = strings.ToUpper(cmd.Short[:1]) + cmd.Short[1:] + "."
	}
	if short { // the first paragraph, without a sentence that only introduces the next one
		text, _, _ = strings.Cut(text, "\n\n")
		if end := strings.LastIndex(text, "."); end > 0 {
			text = text[:end+1]
		}
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", text, cmd.UseLine())
	helpCommands(&b, "Commands", "", cmd.Commands())
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	own := OwnFlags(cmd)
	shared := sharedFlags(cmd)
	commonCount := min(len(own), MaxCommon-len(shared))
	moreFlags := own[commonCount:]
	helpFlags(&b, "Common flags", append(shared, own[:commonCount]...))
	answers := cmdutil.AnsweringFlags(cmd)
	if short {
		switch n := len(moreFlags) + len(answers); n {
		case 0:
		case 1:
			cmdutil.WriteHelpRow(&b, "\n", cmd.CommandPath()+" --help shows one more flag.")
		default:
			cmdutil.WriteHelpRow(&b, "\n", fmt.Sprintf("%s --help shows %d more flags.", cmd.CommandPath(), n))
		}
	} else {
		helpFlags(&b, "More flags", moreFlags)
		if len(answers) > 0 {
			b.WriteString("\nFlags that answer server requests (mcpc help answering):\n")
			cmdutil.WriteHelpRow(&b, "  ", strings.Join(
				sliceutil.Map(answers, func(f *pflag.Flag) string { return "--" + f.Name }), ", "))
		}
	}
	if also := SeeAlso[strings.TrimPrefix(cmd.CommandPath(), "mcpc ")]; also != "" {
		b.WriteString("\n")
		cmdutil.WriteHelpRow(&b, "See also: ", "mcpc "+strings.ReplaceAll(also, ", ", ", mcpc "))
	}
	b.WriteString("\nmcpc --help lists the global flags, mcpc help exit-codes the exit codes.\n")
	return b.String()
}

// rootText returns the help of mcpc itself: usage, examples and the groups of commands. If short is
// set, it lists the commands of all groups except the first without their descriptions.
func rootText(groups []cmdutil.Group, root *cobra.Command, short bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n  mcpc COMMAND [FLAGS]\n\nExamples:\n%s\n", root.Long, root.Example)
	for i, g := range groups {
		var commands []*cobra.Command
		for _, declared := range g.Commands {
			if c, _, err := root.Find([]string{declared.Name}); err == nil && !c.Hidden {
				commands = append(commands, c)
			}
		}
		if !short || i == 0 {
			helpCommands(&b, g.Head, "", commands)
			continue
		}
		if i == 1 {
			b.WriteString("\n")
		}
		cmdutil.WriteHelpRow(&b, fmt.Sprintf("%-26s", g.Head+":"), commandList(commands))
	}
	topics := slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool { return !IsTopic(c) })
	if short {
		cmdutil.WriteHelpRow(&b, fmt.Sprintf("%-26s", "Topics of mcpc help:"), commandList(topics))
		b.WriteString("\n" + howToName + "\nmcpc --help lists everything, mcpc COMMAND --help one command.\n")
		return b.String()
	}
	helpCommands(&b, "Topics", "help ", topics)
	for _, g := range GlobalGroups {
		helpFlags(&b, g.head, sliceutil.Map(strings.Fields(g.Names), root.PersistentFlags().Lookup))
	}
	b.WriteString("\n" + howToName + "\nEvery flag has an environment variable: --max-time is MCPC_MAX_TIME.\n")
	return b.String()
}

// howToName is the text of help on how to name a server.
const howToName = `Name a server with -s: a URL, "demo", a session, or a server of another program
(mcpc servers). The command of a stdio server goes after --: mcpc list -- npx -y
SERVER. The default is the session of the last mcpc init, or
http://localhost:3001/mcp.`

// commandList returns the names of commands, separated by commas.
func commandList(all []*cobra.Command) string {
	return strings.Join(sliceutil.Map(all, (*cobra.Command).Name), ", ")
}

// helpCommands lists commands and their short descriptions under head. It writes before in front of
// each name.
func helpCommands(b *strings.Builder, head, before string, all []*cobra.Command) {
	helpRows(
		b,
		head,
		sliceutil.Map(all, func(c *cobra.Command) [2]string { return [2]string{before + c.Name(), c.Short} }),
	)
}

// helpRows writes a heading and rows of a name and a description, aligned. It writes nothing if
// there are no rows.
func helpRows(b *strings.Builder, head string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	width := 0
	for _, row := range rows {
		width = max(width, len(row[0]))
	}
	fmt.Fprintf(b, "\n%s:\n", head)
	for _, row := range rows {
		cmdutil.WriteHelpRow(b, fmt.Sprintf("  %-*s  ", width, row[0]), row[1])
	}
}

// helpFlags lists flags and their descriptions under head, in 80 columns.
func helpFlags(b *strings.Builder, head string, flags []*pflag.Flag) {
	var rows [][2]string
	for _, f := range flags {
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		if f.Value.Type() != "bool" && f.Value.Type() != "count" {
			name += cmdutil.ShownValue(f)
		}
		_, usage := pflag.UnquoteUsage(f)
		rows = append(rows, [2]string{name, usage})
	}
	helpRows(b, head, rows)
}
