package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// newMan is `mcpc man DIR`. The pages say what --help says; they are written here
// and not by cobra's documents, whose way through Markdown undoes every table.
func newMan(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "write the manual pages",
		Long: `Write the manual pages into DIR/man1 and DIR/man7: one for each command, as
mcpc-call(1), and one for each topic, as mcpc-arguments(7). If DIR is on the
manual path, as ~/.local/share/man usually is, man mcpc shows the first.`,
		Example: `  mcpc man manual
  mcpc man ~/.local/share/man
  mcpc man manual && ls manual/man1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return hintedError{"man takes a directory", "mcpc man ~/.local/share/man"}
			}
			if err := notAPage(cmd.Root(), args[0]); err != nil {
				return err
			}
			a.writeManual(cmd.Root(), args[0])
			return nil
		},
	}
}

// notAPage refuses to make a folder of a name that somebody wants to read about.
func notAPage(root *cobra.Command, name string) error {
	if _, err := os.Stat(name); err == nil || !slices.Contains(commandNames(root), name) {
		return nil
	}
	return hintedError{fmt.Sprintf("man takes a directory, and %q is the name of a page", name),
		"mcpc help " + name + " shows it; mcpc man ./" + name + " writes all pages into a directory of that name"}
}

func (a *app) writeManual(root *cobra.Command, dir string) {
	pages := 0
	for _, c := range allOf(root) {
		name := filepath.Join(dir, "man"+section(c), manName(c)+"."+section(c))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			a.end(localIO("writing the manual", err))
			return
		}
		if err := os.WriteFile(name, []byte(manPage(c)), 0o644); err != nil {
			a.end(localIO("writing the manual", err))
			return
		}
		pages++
	}
	a.note(fmt.Sprintf("%d pages saved to %s", pages, dir))
	a.end(wire.Outcome{})
}

// allOf walks the tree, hidden commands left out.
func allOf(cmd *cobra.Command) (all []*cobra.Command) {
	if cmd.Hidden {
		return nil
	}
	all = append(all, cmd)
	for _, c := range cmd.Commands() {
		all = append(all, allOf(c)...)
	}
	return all
}

// section is 1 for commands and 7 for what is told about them.
func section(c *cobra.Command) string {
	if isTopic(c) {
		return "7"
	}
	return "1"
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is one page, in the macros of man(7).
func manPage(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s %s \"\" \"mcpc\" \"mcpc manual\"\n", strings.ToUpper(manName(c)), section(c))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(c)), roff(c.Short))
	if section(c) == "7" {
		b.WriteString(".SH DESCRIPTION\n.nf\n" + roff(topicText(c, render.Style{})) + ".fi\n")
		return b.String()
	}
	use := useLine(c)
	if !c.HasParent() {
		use = "mcpc COMMAND [FLAGS]"
	}
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", roff(use))
	long := c.Long
	if long == "" {
		long = c.Short
	}
	b.WriteString(".SH DESCRIPTION\n" + roffParagraphs(long))
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n" + roff(c.Example) + "\n.fi\n")
	}
	manCommands(&b, c)
	flags := c.LocalFlags()
	if !c.HasParent() {
		flags = c.PersistentFlags()
	}
	manFlags(&b, flags)
	b.WriteString(".SH \"EXIT STATUS\"\nEach way in which a command can end has a status of its own: mcpc\\-exit\\-codes(7).\n")
	manSeeAlso(&b, c)
	return b.String()
}

func manCommands(b *strings.Builder, c *cobra.Command) {
	var topics []string
	for _, sub := range c.Commands() {
		if sub.Hidden || sub.Name() == "help" {
			continue
		}
		if section(sub) == "7" {
			topics = append(topics, roff(manName(sub))+"(7)")
			continue
		}
		if !strings.Contains(b.String(), ".SH COMMANDS\n") {
			b.WriteString(".SH COMMANDS\n")
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR(1)\n%s\n", roff(manName(sub)), roff(sub.Short))
	}
	if topics != nil {
		b.WriteString(".SH TOPICS\n" + strings.Join(topics, ", ") + "\n")
	}
}

func manFlags(b *strings.Builder, flags *pflag.FlagSet) {
	first := true
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if first {
			b.WriteString(".SH OPTIONS\n")
			first = false
		}
		name := "\\fB" + roff("--"+f.Name) + "\\fR"
		if f.Shorthand != "" {
			name = "\\fB" + roff("-"+f.Shorthand) + "\\fR, " + name
		}
		if f.Value.Type() != "bool" && f.Value.Type() != "count" {
			name += "\\fI" + roff(valueOf(f)) + "\\fR"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", name, roff(f.Usage))
	})
}

func manSeeAlso(b *strings.Builder, c *cobra.Command) {
	pages := []string{"mcpc(1)"}
	if !c.HasParent() {
		pages = nil
	}
	for _, to := range strings.Split(seeAlso[strings.TrimPrefix(c.CommandPath(), "mcpc ")], ", ") {
		switch topic, isTopic := strings.CutPrefix(to, "help "); {
		case to == "" || strings.HasPrefix(to, "explain "):
		case isTopic:
			pages = append(pages, "mcpc-"+topic+"(7)")
		default:
			pages = append(pages, "mcpc-"+strings.ReplaceAll(to, " ", "-")+"(1)")
		}
	}
	if len(pages) > 0 {
		b.WriteString(".SH \"SEE ALSO\"\n" + roff(strings.Join(pages, ", ")) + "\n")
	}
}

// roffParagraphs fills what is prose and leaves what is indented as it stands.
func roffParagraphs(text string) string {
	var b strings.Builder
	for _, paragraph := range strings.Split(text, "\n\n") {
		if strings.Contains("\n"+paragraph, "\n ") {
			b.WriteString(".PP\n.nf\n" + roff(paragraph) + "\n.fi\n")
		} else {
			b.WriteString(".PP\n" + roff(paragraph) + "\n")
		}
	}
	return b.String()
}

// roffed are the characters that troff would take for something else, or print as
// another one: a pasted command must hold the ASCII that it is made of.
var roffed = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// roff makes a text mean itself; no line of it is a request.
func roff(text string) string {
	lines := strings.Split(roffed.Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
