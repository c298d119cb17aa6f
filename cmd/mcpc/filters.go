package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/shellwords"
	"mcpc/internal/trace"
	"mcpc/internal/wire"
)

// filterOf reads the words of a command line as one filter. Its error shows the
// place.
func (a *app) filterOf(words []string) (trace.Filter, error) {
	if err := a.ofEachServer(); err != nil {
		return trace.Filter{}, err
	}
	text := strings.Join(words, " ")
	f, err := trace.ParseFilter(text, a.now())
	if err == nil {
		return f, nil
	}
	wrong, _ := errors.AsType[*trace.FilterError](err)
	hint := wire.Run("help filters") + " shows the language"
	if near := cmp.Or(wire.Nearest(wrong.Word, wrong.Known), wrong.Meant); near != "" {
		hint = wire.Hint("did you mean " + near + "?")
	}
	return f, &inputError{fmt.Sprintf("the filter, column %d: %s", wrong.Column(), wrong.Text), hint,
		wire.InputFacts{Raw: []byte(text), Offset: int64(wrong.Offset), Words: true}}
}

// ofEachServer rejects -s on a command that reads recordings, which are of all servers.
func (a *app) ofEachServer() error {
	if !a.serverGiven || a.shell != nil {
		return nil
	}
	return hinted("-s does not select recorded exchanges", "use the filter target: "+wire.Run("log target:"+shellwords.Quote(wire.RedactURL(a.server))))
}

// withNegations writes -name:x and -(…) as "not", which no flag is: -n is one. They
// mean nothing else on a command line.
func withNegations(args []string) []string {
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
	return slices.ContainsFunc(trace.FilterFields(), func(field string) bool {
		rest, ok := strings.CutPrefix(strings.ToLower(word), field)
		return ok && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "~/"))
	})
}
