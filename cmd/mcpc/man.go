package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
				return hinted("man takes a directory", wire.Run("man ~/.local/share/man"))
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
	return hinted(fmt.Sprintf("man takes a directory, and %q is the name of a page", name),
		wire.Run("help "+name)+" shows it; "+wire.Run("man ./"+name)+" writes all pages into a directory of that name")
}

func (a *app) writeManual(root *cobra.Command, dir string) {
	pages := allOf(root)
	for _, c := range pages {
		name := filepath.Join(dir, "man"+section(c), manName(c)+"."+section(c))
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = os.WriteFile(name, []byte(a.manPage(c)), 0o644)
		}
		if err != nil {
			a.end(localIO("writing the manual", err))
			return
		}
	}
	a.note(fmt.Sprintf("%d pages saved to %s", len(pages), dir))
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

// verbatim begins lines of up to 80 columns, which an indented page has no place for.
const verbatim = ".nf\n.in 0\n"

// manPage is one page, in the macros of man(7): what help says, with its headings.
func (a *app) manPage(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s %s \"\" \"mcpc\" \"mcpc manual\"\n", strings.ToUpper(manName(c)), section(c))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH DESCRIPTION\n"+verbatim, roff(manName(c)), roff(c.Short))
	if isTopic(c) {
		b.WriteString(roff(topicText(c, render.Style{})) + ".fi\n")
		return b.String()
	}
	before := ""
	for line := range strings.Lines(a.helpText(c, false)) {
		head, ends := strings.CutSuffix(line, ":\n")
		if ends && before == "\n" && head[0] != ' ' && len(head) < 30 {
			b.WriteString(".fi\n.SH " + roff(strings.ToUpper(head)) + "\n" + verbatim)
		} else {
			b.WriteString(roff(line))
		}
		before = line
	}
	return b.String() + ".fi\n"
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
