package meant

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/capture/filter"
	"mcpc/internal/cli/cmdutil"
)

// EscapeCodes returns args with "code " before each negative number after the word explain, so that
// -32602 is not parsed as a flag.
func EscapeCodes(args []string) []string {
	at := slices.Index(args, "explain")
	if at < 0 || slices.Contains(args[:at], "--") {
		return args
	}
	code := regexp.MustCompile(`^-\d+(\.\.-?\d+)?:?$`)
	args = slices.Clone(args)
	for i := at + 1; i < len(args) && args[i] != "--"; i++ {
		if code.MatchString(args[i]) {
			args[i] = "code " + args[i]
		}
	}
	return args
}

// EscapeNegations returns args with the filter terms -name:x and -(…) written as "not name:x" and
// "not (…)", so that they are not parsed as flags. It leaves the words after -- unchanged.
func EscapeNegations(args []string) []string {
	words := slices.Clone(args)
	for i, word := range words {
		if word == "--" {
			break
		}
		if term, ok := strings.CutPrefix(word, "-"); ok && isTerm(term) {
			words[i] = "not " + term
		}
	}
	return words
}

// isTerm reports whether a word without its hyphen is a term of a filter: a group, a quoted text,
// or a field with its value.
func isTerm(word string) bool {
	if strings.HasPrefix(word, "(") || strings.HasPrefix(word, `"`) {
		return true
	}
	return slices.ContainsFunc(filter.Fields(), func(field string) bool {
		rest, ok := strings.CutPrefix(strings.ToLower(word), field)
		return ok && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "~/"))
	})
}

// Execute runs the command line words and returns its error. An unknown command is an error even
// with --help, where cobra would show the help of mcpc.
func Execute(ctx context.Context, f *cmdutil.Factory, root *cobra.Command, words []string) error {
	var unknown error
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if !cmd.HasParent() && len(words) > 0 && !strings.HasPrefix(words[0], "-") && words[0] != "help" {
			unknown = UnknownCommand(f, cmd, words)
			return
		}
		help(cmd, args)
	})
	root.SetArgs(EscapeCodes(EscapeNegations(words)))
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	return unknown // cobra returns nil after the help
}
