package cmdutil

import (
	"regexp"
	"slices"
	"strings"

	"mcpc/internal/capture/filter"
)

// WithCodes lets a code stand behind explain as it is: -32602 is no flag there.
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

// BeforeDashes are the words before "--": what follows is another program's.
func BeforeDashes(args []string) []string {
	if at := slices.Index(args, "--"); at >= 0 {
		return args[:at]
	}
	return args
}
