package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// What a person perhaps meant by words that stand in the wrong place or are written as
// another program wants them. It is said, and never done.

// unnamed gives an error of arguments without names a hint that has them, unless that
// would be as wrong. before are the words of the command, "call NAME", and args what
// follows.
func (a *app) unnamed(cmd *cobra.Command, k kind, before, args []string, err error) error {
	reads := func(arg string) bool { return arg == "-" || strings.Contains(arg, "@") }
	if !slices.ContainsFunc(args, isUnnamed) || slices.ContainsFunc(args, reads) {
		return err
	}
	names, shows := a.argumentNames(cmd, k, before[1]), "list "+k.many
	if len(names) > 0 {
		shows = "describe " + k.one + " " + render.ShellQuote(before[1])
	}
	words, guessed, left := namedWords(args, names)
	if _, again := a.given(words, "", k != toolKind); again != nil {
		return err
	}
	command := strings.Join(quotedWords(slices.Concat(before, words, left)), " ")
	switch {
	case len(left) > 0:
		return hintedAnew(err, "each argument has a name: "+a.quoted(command)+"; "+a.quoted(shows)+" shows the names")
	case guessed:
		return hintedAnew(err, "each argument has a name: "+a.command(command))
	}
	return hintedAnew(err, "did you mean "+a.quoted(command)+"?")
}

// hintedAnew is a usage error with another hint.
func hintedAnew(err error, hint string) error {
	several := &severalError{}
	if errors.As(err, &several) {
		several.hint = hint
		return several
	}
	return hintedError{err.Error(), hint}
}

// namedWords gives words a name that have none: a:1 is a=1, three words a = 1 are one,
// and others have the names of the tool in turn, which is guessed. left are those for
// which it has none.
func namedWords(args, names []string) (words []string, guessed bool, left []string) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if isUnnamed(word) && i+1 < len(args) && strings.HasPrefix(args[i+1], "=") {
			i++
			word += args[i]
		}
		if _, value := operator(word); value == len(word) && i+1 < len(args) && isUnnamed(args[i+1]) {
			i++
			word += args[i]
		}
		name, value, colon := strings.Cut(word, ":")
		aName := len(names) == 0 && inert(name) && !strings.ContainsAny(name, " /@%+,") && !strings.HasPrefix(value, "//")
		if colon && isUnnamed(word) && (aName || slices.Contains(names, name)) {
			word = name + "=" + value
		}
		words = append(words, word)
	}
	given := func(name string) bool {
		object, _ := wire.Object(json.RawMessage(words[0]))
		_, there := object.Get(name)
		return there || slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, name+"=") })
	}
	names = slices.DeleteFunc(slices.Clone(names), given)
	named := words[:0]
	for _, word := range words {
		switch {
		case !isUnnamed(word):
			named = append(named, word)
		case len(names) == 0:
			left = append(left, "NAME="+word)
		default:
			named, names, guessed = append(named, names[0]+"="+word), names[1:], true
		}
	}
	return named, guessed, left
}

func quotedWords(words []string) (quoted []string) {
	for _, word := range words {
		quoted = append(quoted, render.ShellQuote(word))
	}
	return quoted
}
