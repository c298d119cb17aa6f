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

// The texts of help: --help fits on a screen, --help-all is complete. cobra's templates are not used:
// they would make every start of the program slower.

// Help writes the help of a command or topic to standard output: a topic and the complete help in the
// pager.
func Help(f *cmdutil.Factory, cmd *cobra.Command, _ []string) {
	if f.Shell == nil {
		_ = cmdutil.SetFlagsFromEnvironment(cmd, f.Getenv) // for MCPC_NO_PAGER: --help runs before prepare
	}
	switch {
	case IsTopic(cmd):
		_ = f.WritePaged([]byte(TopicText(f, cmd, f.OutStyle)))
	case f.AsksCompleteHelp:
		_ = f.WritePaged([]byte(HelpText(f, cmd)))
	default:
		_, _ = f.Stdout().Write([]byte(ScreenText(f, cmd)))
	}
}

// ScreenLines is the height of the screen that --help fits on.
const ScreenLines = 40

// ScreenText returns the help that --help shows of a command: the complete help if it has at most
// ScreenLines lines, else its first paragraph, its examples and its common flags.
func ScreenText(f *cmdutil.Factory, cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return firstScreen(cmd)
	}
	text := HelpText(f, cmd)
	if strings.Count(text, "\n") > ScreenLines {
		const isComplete = false
		text = commandText(cmd, isComplete)
	}
	return text
}

// HelpText returns the complete help of a command, which --help-all shows.
func HelpText(f *cmdutil.Factory, cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return rootHead(cmd) + "\n" + allText(f, cmd) + "\n" + flagsText(cmd)
	}
	const isComplete = true
	return commandText(cmd, isComplete)
}

// commandText returns the help of a command. Without isComplete it has the first paragraph of the
// description and the common flags only.
func commandText(cmd *cobra.Command, isComplete bool) string {
	var b strings.Builder
	text := cmd.Long
	if text == "" {
		text = strings.ToUpper(cmd.Short[:1]) + cmd.Short[1:] + "."
	}
	if !isComplete { // the first paragraph, without a sentence that only introduces the next one
		text, _, _ = strings.Cut(text, "\n\n")
		end := max(strings.LastIndex(text, ". "), strings.LastIndex(text, ".\n"))
		if strings.HasSuffix(text, ":") && end > 0 {
			text = text[:end+1]
		}
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", text, cmd.UseLine())
	helpCommands(&b, "Commands", "", shownCommands(cmd))
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	own := OwnFlags(cmd)
	shared := sharedFlags(cmd)
	commonCount := min(len(own), MaxCommon-len(shared))
	moreFlags := own[commonCount:]
	helpFlags(&b, "Common flags", append(shared, own[:commonCount]...))
	answers := cmdutil.AnsweringFlags(cmd)
	if isComplete {
		helpFlags(&b, "More flags", moreFlags)
		if len(answers) > 0 {
			b.WriteString("\nFlags that answer server requests (mcpc help answering):\n")
			cmdutil.WriteHelpRow(&b, "  ", strings.Join(
				sliceutil.Map(answers, func(f *pflag.Flag) string { return "--" + f.Name }), ", "))
		}
	} else {
		more := "the whole description"
		switch n := len(moreFlags) + len(answers); n {
		case 0:
		case 1:
			more += " and one more flag"
		default:
			more += fmt.Sprintf(" and %d more flags", n)
		}
		cmdutil.WriteHelpRow(&b, "\n", cmd.CommandPath()+" --help-all shows "+more+".")
	}
	if also := SeeAlso[strings.TrimPrefix(cmd.CommandPath(), "mcpc ")]; also != "" {
		b.WriteString("\n")
		cmdutil.WriteHelpRow(&b, "See also: ", "mcpc "+strings.ReplaceAll(also, ", ", ", mcpc "))
	}
	b.WriteString("\nmcpc help flags lists the global flags, mcpc help exit-codes the exit codes.\n")
	return b.String()
}

// shownCommands returns the subcommands of cmd that help lists: no topics, and no hidden commands.
func shownCommands(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return c.Hidden || IsTopic(c) })
}

// firstCommands are the commands that mcpc --help lists, by task.
var firstCommands = []helpGroup{
	{"Talk to a server", "init list describe call read prompt raw"},
	{"Watch traffic", "inspect log show tap proxy"},
	{"Test a server", "check run diff mock"},
	{"Connect a host to a server", "serve"},
}

// firstScreen returns the help of mcpc itself: usage, examples, and the most used commands.
func firstScreen(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(rootHead(root))
	for _, g := range firstCommands {
		var commands []*cobra.Command
		for name := range strings.FieldsSeq(g.Names) {
			if c, _, err := root.Find([]string{name}); err == nil {
				commands = append(commands, c)
			}
		}
		helpCommands(&b, g.head, "", commands)
	}
	b.WriteString("\n" + howToName + `

Every command takes --json (the result as JSON), --jq EXPR, --protocol REVISION,
and -v, -vv or -vvv (the traffic: lines, bodies, headers and bytes).

mcpc COMMAND --help shows one command. mcpc help all lists all commands and help
topics, mcpc help flags the flags that every command has.
`)
	return b.String()
}

// rootHead returns what mcpc is, its usage and examples.
func rootHead(root *cobra.Command) string {
	return fmt.Sprintf("%s\n\nUsage:\n  mcpc COMMAND [FLAGS]\n\nExamples:\n%s\n", root.Long, root.Example)
}

// allText returns the list of all commands and topics, which mcpc help all shows.
func allText(f *cmdutil.Factory, root *cobra.Command) string {
	var b strings.Builder
	for _, g := range f.Groups() {
		var commands []*cobra.Command
		for _, declared := range g.Commands {
			if c, _, err := root.Find([]string{declared.Name}); err == nil && !c.Hidden {
				commands = append(commands, c)
			}
		}
		helpCommands(&b, g.Head, "", commands)
	}
	topics := slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool { return !IsTopic(c) })
	helpCommands(&b, "Topics", "help ", topics)
	return strings.TrimPrefix(b.String(), "\n")
}

// flagsText returns the list of the flags of all commands, which mcpc help flags shows.
func flagsText(root *cobra.Command) string {
	var b strings.Builder
	for _, g := range GlobalGroups {
		helpFlags(&b, g.head, sliceutil.Map(strings.Fields(g.Names), root.PersistentFlags().Lookup))
	}
	b.WriteString("\n" + howToName + "\nEvery flag has an environment variable: --max-time is MCPC_MAX_TIME.\n")
	return strings.TrimPrefix(b.String(), "\n")
}

// howToName is the text of help on how to name a server.
const howToName = `Name a server with -s: a URL, "demo", a session, or a server of another program
(mcpc servers). The command of a stdio server goes after --: mcpc list -- npx -y
SERVER. The default is the session of the last mcpc init, or
http://localhost:3001/mcp.`

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
