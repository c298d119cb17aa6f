package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/render"
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
	hint := "mcpc help filters shows the language"
	if near := render.Nearest(wrong.Word, wrong.Known); near != "" {
		hint = "did you mean " + near + "?"
	} else if wrong.Meant != "" {
		hint = "did you mean " + wrong.Meant + "?"
	}
	return f, &inputError{fmt.Sprintf("the filter, column %d: %s", wrong.Column(), wrong.Text), hint,
		wire.InputFacts{Raw: []byte(text), Offset: int64(wrong.Offset), Words: true}}
}

// ofEachServer rejects -s on a command that reads recordings, which are of all servers.
func (a *app) ofEachServer() error {
	if !a.serverGiven || a.shell != nil {
		return nil
	}
	return hintedError{"-s does not select recorded exchanges", "use the filter target: mcpc log target:" + render.ShellQuote(wire.RedactURL(a.server))}
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
	for _, field := range trace.FilterFields() {
		if rest, ok := strings.CutPrefix(strings.ToLower(word), field); ok && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "~/")) {
			return true
		}
	}
	return false
}
