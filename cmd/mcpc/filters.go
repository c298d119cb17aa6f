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

const filterHelp = `Commands for recorded exchanges take a filter and show the matching exchanges.

  mcpc log get-sum                         a text, ignoring case: in the method,
  mcpc log '"not found"'                   the name, the server or a message
  mcpc log method:tools/call 'name:get-*'  a field; * and ? are wildcards
  mcpc log channel:tool_error,rpc_error    one of several
  mcpc log 'dur:>500ms' http:4xx           comparisons: > >= < <= = !=
  mcpc log size:10kb..2mb since:2h         a range; an age
  mcpc log is:error -method:ping           negation
  mcpc log '(has:retry or has:resume) not is:open'
  mcpc log 'body~/"code": ?-32\d{3}/'     a regular expression (RE2)

Fields:
  method name target      the method, the name or URI, the server
  dir                     direction: sent (by the client), received
  client server           the names of client and server: claude*
  session conn            the hash of the session id, the number of the
                          connection in its run
  channel, outcome        the outcome: ok, open (no response), cancelled, probe
                          (a version probe of an older server), or a kind of
                          mcpc help exit-codes: tool_error, timeout, ...
  exit http               exit code and HTTP status: !=0, 404, 4xx, 400..499
  dur ttfb size           500ms 2s 1m (total, and to the first byte), 900 10kb
                          1.5mb (messages, both directions)
  time since run          2026-01-31, 15:04, 2026-01-31T15:04:05; 10m 2h 3d ago
                          (since only); the number of a run
  era protocol id         era: legacy (with a handshake) or modern; revision; id
                          of the request
  kind                    frame kind: body, head, event, stderr, noise (stdout
                          that is not JSON-RPC), closed
  has                     finding (a warning), retry, resume (of a stream),
                          round (a repeated request with input), notification,
                          question (a server request), guess (a message that
                          names no request)
  is                      open, error, cancelled, late (a response came anyway),
                          probe, orphan (a response without a request)
  secret                  the hash of a hidden value: 1a2b, or * for any
  body                    a text in a message; ~ also works with method, name,
                          target

Spaces and "and" mean both, "or" either, "-" or "not" negation; "and" binds
tighter than "or", and parentheses group. Double quotes make literal text. In a
shell, quote ( ) < > * ! and " with single quotes; exclude a plain word with
"not", because -word is a flag.
`
