package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/render"
	"mcpc/internal/trace"
	"mcpc/internal/wire"
)

// filterOf reads the words of a command line as one filter. Its error shows the
// place.
func (a *app) filterOf(words []string) (trace.Filter, error) {
	text := strings.Join(words, " ")
	f, err := trace.ParseFilter(text, a.now())
	if err == nil {
		return f, nil
	}
	wrong, _ := errorAs[*trace.FilterError](err)
	hint := "mcpc help filters shows the language"
	if near := render.Nearest(wrong.Word, wrong.Known); near != "" {
		hint = "did you mean " + near + "?"
	} else if wrong.Meant != "" {
		hint = "did you mean " + wrong.Meant + "?"
	}
	return f, &inputError{fmt.Sprintf("the filter, column %d: %s", wrong.Column(), wrong.Text), hint,
		wire.InputFacts{Raw: []byte(text), Offset: int64(wrong.Offset), Words: true}}
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

// newFilters is the topic `mcpc help filters`.
func newFilters() *cobra.Command {
	return &cobra.Command{
		Use:   "filters",
		Short: "the filter language for recorded exchanges",
		Long:  filterHelp,
	}
}

const filterHelp = `Commands over recorded exchanges take a filter, and show what fits it.

  mcpc log get-sum                         a text, in any case: in the method,
  mcpc log '"not found"'                   the name, the server or a message
  mcpc log method:tools/call 'name:get-*'  a field; * and ? stand for anything
  mcpc log channel:tool_error,rpc_error    one of several
  mcpc log 'dur:>500ms' http:4xx           compared: > >= < <= = !=
  mcpc log size:10kb..2mb since:2h         a range; how long ago
  mcpc log is:error -method:ping           not
  mcpc log '(has:retry or has:resume) not is:open'
  mcpc log 'body~/"code": ?-32\d{3}/'     a regular expression (RE2)

Fields:
  method name target      what was asked, and whom
  dir                     direction: sent (by the client), received
  client server           what the two sides call themselves: claude*
  session conn            the hash of a session's id, the number of a
                          conversation in its run
  channel                 how it ended: ok, open (no answer), cancelled, probe
                          (an older server said that it is one), or a kind of
                          mcpc help exit-codes: tool_error, timeout, ...
  exit http               exit code and HTTP status: !=0, 404, 4xx, 400..499
  dur ttfb size           500ms 2s 1m (whole, and to the first byte), 900 10kb
                          1.5mb (messages, both ways)
  time since run          2026-01-31, 15:04, 2026-01-31T15:04:05; 10m 2h 3d ago
                          (since only); the number of a run
  era protocol id         of the conversation, its revision; of the request
  kind                    what crossed: body, head, event, stderr, noise, closed
  has                     finding, retry, resume, round, notification, question,
                          guess
  is                      open, error, cancelled, late (answered all the same),
                          probe, orphan
  secret                  the hash of what was hidden: 1a2b, or * for any
  body                    a text in a message; ~ takes method, name, target, too

Blanks and "and" mean both, "or" either, "-" or "not" neither; "and" goes before
"or", and parentheses before both. What is in double quotes is taken as it
stands. The shell wants single quotes around ( ) < > * ! and "; a word alone is
left out with "not", since -word is a flag to it.
`
