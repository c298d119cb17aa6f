package help

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/glossary"
	"mcpc/internal/lint"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NewExplain returns the command `mcpc explain WORD`, which contacts no server.
func NewExplain(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [TERM...]",
		Short: "explain a code, a status, a method or a term",
		Long: `Explain a term of the protocol, of a server or of mcpc: a JSON-RPC code, an
exit code, an HTTP status, a method, a member of a message, or the name of a
warning. The explanation says in which revisions it occurs, which side sends
it, what to do next, and which page of the specification describes it. No
server is contacted.

Without a term it lists all terms.`,
		Example: `  mcpc explain -32602
  mcpc explain exit 6
  mcpc explain http 404
  mcpc explain isError
  mcpc explain --jq '.entries[].words[0]'`,
		ValidArgsFunction: completeExplain,
		RunE: func(cmd *cobra.Command, args []string) error {
			entries, groups := glossary.Read()
			found, err := findEntries(entries, args)
			if err != nil {
				return err
			}
			return cmdutil.Show(
				cmd.Context(),
				f,
				wire.Outcome{},
				cmdutil.Document(entriesJSON(found), func(w io.Writer, st term.Style) error {
					if len(args) == 0 {
						return writeGlossary(w, st, entries, groups)
					}
					return writeEntries(w, st, found)
				}),
			)
		},
	}
}

// findEntries returns the entries for the arguments: for all of them as one term, else for the text
// before ": " of a pasted error message, else for each argument as a term. It returns all entries
// if there are no arguments, and a usage error for an unknown term.
func findEntries(entries []glossary.Entry, args []string) (found []glossary.Entry, err error) {
	if len(args) == 0 {
		return entries, nil
	}
	all := strings.ReplaceAll(strings.Join(args, " "), "code -", "-") // meant.EscapeCodes writes -32000 as "code -32000"
	found = glossary.Find(entries, all)
	if found != nil {
		return found, nil
	}
	// Users paste a whole error, as "MCP error -32000: Connection closed".
	if first, _, isError := strings.Cut(all, ": "); isError {
		found = glossary.Find(entries, first)
		if found != nil {
			return found, nil
		}
	}
	for _, word := range args {
		these := glossary.Find(entries, word)
		if these == nil {
			return nil, unknownTerm(entries, word, all)
		}
		found = append(found, these...)
	}
	return found, nil
}

// unknownTerm returns the usage error for an unknown term. all is the joined arguments, word the
// argument that is unknown. The hint suggests a similar term, or the check rule of that name.
func unknownTerm(entries []glossary.Entry, word, all string) error {
	known := glossaryWords(entries)
	hint := wire.Run("explain") + " lists all terms"
	if near := cmp.Or(suggest.Nearest(all, known), suggest.Nearest(word, known)); near != "" {
		hint = "did you mean " + wire.Run("explain "+shellwords.Quote(near)) + "?"
	}
	if first, _, _ := strings.Cut(all, " "); first != word && glossary.Find(entries, first) != nil {
		hint = "did you mean " + wire.Run("explain "+shellwords.Quote(first)) + "?"
	}
	if rule, ok := lint.Find(strings.ToUpper(all)); ok {
		hint = wire.Run("check --explain "+rule.ID) + " explains this rule"
	}
	return usage.New(fmt.Sprintf("unknown term: %s", arguments.Shortened(all)), hint)
}

// glossaryWords returns the words of all entries, including synonyms.
func glossaryWords(entries []glossary.Entry) []string {
	var words []string
	for _, e := range entries {
		words = append(words, e.Words...)
	}
	return words
}

// entriesJSON returns the object {"entries": [...]} as one line.
func entriesJSON(entries []glossary.Entry) json.RawMessage {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string][]glossary.Entry{"entries": entries})
	return json.RawMessage(strings.TrimSpace(b.String()))
}

// writeGlossary lists the terms by group. If the output is not a terminal, it writes one line for
// each term: group, term and title, separated by tabs.
func writeGlossary(w io.Writer, st term.Style, entries []glossary.Entry, groups []glossary.Group) error {
	var b strings.Builder
	for _, g := range groups {
		var words []string
		for _, e := range entries {
			switch {
			case e.Group != g.Name:
			case st.Terminal:
				words = append(words, e.Words[0])
			default:
				fmt.Fprintf(&b, "%s\t%s\t%s\n", g.Name, e.Words[0], e.Title)
			}
		}
		if st.Terminal {
			b.WriteString(g.Heading + "\n")
			cmdutil.WriteHelpRow(&b, "  ", strings.Join(words, ", "))
		}
	}
	if st.Terminal {
		b.WriteString("\nmcpc explain TERM explains one.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeEntries writes the entries in full, with an empty line between them.
func writeEntries(w io.Writer, st term.Style, entries []glossary.Entry) error {
	for i, e := range entries {
		if i > 0 {
			_, _ = io.WriteString(w, "\n")
		}
		words := slices.DeleteFunc(slices.Clone(e.Words), func(w string) bool { return strings.EqualFold(w, e.Title) })
		_, _ = fmt.Fprintf(w, "%s - %s\n", strings.Join(words, ", "), e.Title)
		page := "spec page"
		if strings.HasPrefix(e.Where, "mcpc ") || strings.HasPrefix(e.Where, "docs/") {
			page = "documentation"
		}
		err := term.Facts(w, st, [][]string{
			{"means", e.Means},
			{"revisions", e.Revisions},
			{"from", e.From},
			{"exit", e.Exit},
			{"next", e.Next},
			{page, e.Where},
			{"see", strings.Join(e.See, ", ")},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// completeExplain offers the terms that are one word.
func completeExplain(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	entries, _ := glossary.Read()
	words := slices.DeleteFunc(glossaryWords(entries), func(w string) bool { return strings.Contains(w, " ") })
	return cmdutil.CompletedWords(words, typed), cmdutil.NoFiles
}
