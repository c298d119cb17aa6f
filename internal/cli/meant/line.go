package meant

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/capture/filter"
	"mcpc/internal/cli/cmdutil"
)

// WithCodes lets a code follow explain as it is: -32602 is no flag there.
func WithCodes(args []string) []string {
	at := slices.Index(args, "explain")
	if at < 0 || slices.Contains(args[:at], "--") {
		return args
	}
	code := regexp.MustCompile(`^-\d+:?$`)
	args = slices.Clone(args)
	for i := at + 1; i < len(args) && args[i] != "--"; i++ {
		if code.MatchString(args[i]) {
			args[i] = "code " + args[i]
		}
	}
	return args
}

// WithNegations writes -name:x and -(…) as "not", which no flag is: -n is one. They
// mean nothing else on a command line.
func WithNegations(args []string) []string {
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

func isTerm(word string) bool {
	if strings.HasPrefix(word, "(") || strings.HasPrefix(word, `"`) {
		return true
	}
	return slices.ContainsFunc(filter.Fields(), func(field string) bool {
		rest, ok := strings.CutPrefix(strings.ToLower(word), field)
		return ok && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "~/"))
	})
}

// Execute runs a command line and returns how it ended. A word that names no command is an
// error, also before --help.
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
	root.SetArgs(WithCodes(WithNegations(words)))
	return cmp.Or(root.ExecuteContext(ctx), unknown)
}
