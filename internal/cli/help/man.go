package help

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/render/term"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NewMan returns the command `mcpc man DIR`. The pages have the text of --help-all. cobra's generator
// is not used: it converts the text to Markdown first, which breaks tables.
func NewMan(f *cmdutil.Factory) *cobra.Command {
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
				return usage.New("man takes a directory", wire.Run("man ~/.local/share/man"))
			}
			if _, err := os.Stat(args[0]); err != nil && slices.Contains(cmdutil.CommandNames(cmd.Root()), args[0]) {
				return usage.New(
					fmt.Sprintf("man takes a directory, and %q is the name of a page", args[0]),
					wire.Run(
						"help "+args[0],
					)+" shows it; "+wire.Run(
						"man ./"+args[0],
					)+" writes all pages into a directory of that name",
				)
			}
			return writeManual(f, cmd.Root(), args[0])
		},
	}
}

// writeManual writes a page for each visible command and topic below dir.
func writeManual(f *cmdutil.Factory, root *cobra.Command, dir string) error {
	pages := AllOf(root)
	for _, c := range pages {
		name := filepath.Join(dir, "man"+section(c), ManName(c)+"."+section(c))
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = os.WriteFile(name, []byte(ManPage(f, c)), 0o644)
		}
		if err != nil {
			return cmdutil.Exit(usage.LocalIO("writing the manual", err))
		}
	}
	f.Note(fmt.Sprintf("%d pages saved to %s", len(pages), dir))
	return nil
}

// section returns the section of a manual page: 1 for commands, 7 for topics.
func section(c *cobra.Command) string {
	if IsTopic(c) {
		return "7"
	}
	return "1"
}

// ManName returns the name of a manual page, as mcpc-call.
func ManName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// ManPage returns the manual page of a command or topic, in the macros of man(7). Its text and
// headings are the ones of help.
func ManPage(f *cmdutil.Factory, c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s %s \"\" \"mcpc\" \"mcpc manual\"\n", strings.ToUpper(ManName(c)), section(c))
	fmt.Fprintf(&b, ".nh\n.ad l\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.in 0\n", Roff(ManName(c)), Roff(c.Short))
	text := ""
	if IsTopic(c) {
		text = TopicText(f, c, term.Style{})
	} else {
		text = HelpText(f, c)
	}
	for i, block := range strings.Split(strings.TrimRight(text, "\n"), "\n\n") {
		head, rest, _ := strings.Cut(block, "\n")
		name, ends := strings.CutSuffix(head, ":")
		if head != "" && head[0] != ' ' && strings.HasPrefix(rest, "  ") && ends != IsTopic(c) && len(name) < 50 {
			b.WriteString(".SH " + Roff(strings.ToUpper(name)) + "\n.in 0\n")
			block = rest
		} else if i > 0 {
			b.WriteString(".sp\n")
		}
		b.WriteString(manBlock(block))
	}
	return b.String()
}

// manBlock returns the roff for a block of lines without empty lines. troff fills a paragraph to
// the width of the terminal. Tables, examples and flags keep their lines, at the left edge: the
// lines have up to 80 columns.
func manBlock(block string) string {
	if isParagraph(block) {
		return Roff(block) + "\n"
	}
	if inner := strings.TrimPrefix(strings.ReplaceAll(block, "\n  ", "\n"), "  "); isParagraph(inner) {
		return ".in 2n\n" + Roff(inner) + "\n.in 0\n"
	}
	return ".nf\n" + Roff(block) + "\n.fi\n"
}

// minFilled is the width of the shortest line of a paragraph before its last one.
const minFilled = 60

// isParagraph reports whether a block is wrapped text: no line is empty, indented or has columns,
// and every line before the last one has at least minFilled bytes.
func isParagraph(block string) bool {
	lines := strings.Split(block, "\n")
	for i, line := range lines {
		if line == "" || line[0] == ' ' || strings.Contains(line, "  ") || i < len(lines)-1 && len(line) < minFilled {
			return false
		}
	}
	return true
}

// roffed replaces characters that troff interprets or prints as different characters. A user who
// copies a command from a page must get its ASCII characters.
var roffed = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// Roff escapes a text for troff, so that the page shows the text unchanged. A line that begins with
// a dot is not a troff request.
func Roff(text string) string {
	lines := strings.Split(roffed.Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
