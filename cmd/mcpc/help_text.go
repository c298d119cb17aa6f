package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The texts of help: -h is what fits a screen, --help is all of it. They are
// written here and not by cobra's templates, which would cost every start of the
// program.

// help writes a command's help.
func (a *app) help(cmd *cobra.Command, _ []string) {
	if !cmd.HasParent() && len(a.args) > 0 && !strings.HasPrefix(a.args[0], "-") && a.args[0] != "help" {
		a.end(usage(a.unknownCommand(cmd, a.args))) // mcpc frobnicate --help
		return
	}
	if a.shell == nil {
		_ = fromEnvironment(cmd, a.getenv) // MCPC_NO_PAGER: --help runs before prepare
	}
	switch {
	case isTopic(cmd):
		_ = a.writePaged([]byte(topicText(cmd, a.outStyle)))
	case a.asksShort(cmd):
		_, _ = a.stdout().Write([]byte(a.helpText(cmd, true)))
	default:
		_ = a.writePaged([]byte(a.helpText(cmd, false)))
	}
}

// asksShort tells -h from --help and `mcpc help`.
func (a *app) asksShort(cmd *cobra.Command) bool {
	own := beforeDashes(a.args)
	if !cmd.HasParent() {
		return !slices.Contains(own, "--help") && !slices.Contains(own, "help")
	}
	return slices.Contains(own, "-h") && !slices.Contains(own, "--help")
}

func (a *app) helpText(cmd *cobra.Command, short bool) string {
	if !cmd.HasParent() {
		return rootText(a.groups(), cmd, short)
	}
	var b strings.Builder
	text := cmd.Long
	if text == "" {
		text = strings.ToUpper(cmd.Short[:1]) + cmd.Short[1:] + "."
	}
	if short {
		text = firstWords(text)
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", text, cmd.UseLine())
	helpCommands(&b, "Commands", "", cmd.Commands())
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	own := ownFlags(cmd)
	shared := sharedFlags(cmd)
	most := min(len(own), maxCommon-len(shared))
	more := own[most:]
	helpFlags(&b, "Common flags", append(shared, own[:most]...))
	answers := answeringFlags(cmd)
	if short {
		if len(more)+len(answers) > 0 {
			helpRow(&b, "\n", fmt.Sprintf("%s --help shows %s.", cmd.CommandPath(), moreFlags(len(more)+len(answers))))
		}
	} else {
		helpFlags(&b, "More flags", more)
		if len(answers) > 0 {
			b.WriteString("\nServer requests are answered at a terminal, or by (mcpc help answering):\n")
			helpRow(&b, "  ", strings.Join(mapped(answers, func(f *pflag.Flag) string { return "--" + f.Name }), ", "))
		}
	}
	if also := seeAlso[strings.TrimPrefix(cmd.CommandPath(), "mcpc ")]; also != "" {
		b.WriteString("\n")
		helpRow(&b, "See also: ", "mcpc "+strings.ReplaceAll(also, ", ", ", mcpc "))
	}
	b.WriteString("\nmcpc --help lists the global flags, mcpc help exit-codes the exit codes.\n")
	return b.String()
}

// firstWords are the first paragraph of a text, without a sentence that only leads on
// to the next one.
func firstWords(text string) string {
	text, _, _ = strings.Cut(text, "\n\n")
	if end := strings.LastIndex(text, "."); end > 0 {
		text = text[:end+1]
	}
	return text
}

// rootText is the first thing that a person sees.
func rootText(groups []group, root *cobra.Command, short bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n  mcpc COMMAND [FLAGS]\n\nExamples:\n%s\n", root.Long, root.Example)
	for i, g := range groups {
		var of []*cobra.Command
		for _, made := range g.commands {
			if c, _, err := root.Find([]string{made.name}); err == nil && !c.Hidden {
				of = append(of, c)
			}
		}
		switch {
		case !short || i == 0:
			helpCommands(&b, g.head, "", of)
			continue
		case i == 1:
			b.WriteString("\n")
		}
		helpRow(&b, fmt.Sprintf("%-26s", g.head+":"), commandList(of))
	}
	topics := slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool { return !isTopic(c) })
	if short {
		helpRow(&b, fmt.Sprintf("%-26s", "Topics of mcpc help:"), commandList(topics))
		b.WriteString("\n" + howToName + "\nmcpc --help lists everything, mcpc COMMAND --help one command.\n")
		return b.String()
	}
	helpCommands(&b, "Topics", "help ", topics)
	for _, g := range globalGroups {
		helpFlags(&b, g.head, mapped(strings.Fields(g.names), root.PersistentFlags().Lookup))
	}
	b.WriteString("\n" + howToName + "\nEvery flag has a variable: --max-time is MCPC_MAX_TIME.\n")
	return b.String()
}

// howToName says how a server is named.
const howToName = `Name a server with -s: a URL, "demo", a session, or a server of another program
(mcpc servers). The command of a stdio server goes after --: mcpc list -- npx -y
SERVER. The default is the session of the last mcpc init, or
http://localhost:3001/mcp.`

func commandList(all []*cobra.Command) string {
	return strings.Join(mapped(all, (*cobra.Command).Name), ", ")
}

// helpCommands lists commands with what they do; before stands before each name.
func helpCommands(b *strings.Builder, head, before string, all []*cobra.Command) {
	helpRows(b, head, mapped(all, func(c *cobra.Command) [2]string { return [2]string{before + c.Name(), c.Short} }))
}

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
		helpRow(b, fmt.Sprintf("  %-*s  ", width, row[0]), row[1])
	}
}

// helpColumns is how wide a line of help may be.
const helpColumns = 80

// helpRow writes what stands left and, beside it, a text in as many lines as it
// needs.
func helpRow(b *strings.Builder, left, text string) {
	line := left
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len(line)+1+len(word) <= helpColumns:
			line += " " + word
		default:
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", len(strings.TrimLeft(left, "\n"))) + word
		}
	}
	b.WriteString(line + "\n")
}

// helpFlags lists flags with what they do, in 80 columns.
func helpFlags(b *strings.Builder, head string, flags []*pflag.Flag) {
	var rows [][2]string
	for _, f := range flags {
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		if f.Value.Type() != "bool" && f.Value.Type() != "count" {
			name += valueOf(f)
		}
		_, usage := pflag.UnquoteUsage(f)
		rows = append(rows, [2]string{name, usage})
	}
	helpRows(b, head, rows)
}

func moreFlags(n int) string {
	if n == 1 {
		return "one more flag"
	}
	return fmt.Sprintf("%d more flags", n)
}
