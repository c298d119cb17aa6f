package shellwords

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/shell"
	"mvdan.cc/sh/v3/syntax"
)

// Unfinished reports whether a command goes on in the next line, because the text ends in a
// backslash or within quotes. head is what the next line is appended to: the text without that
// backslash or, if a quote is open, with a line end. Backslashes and quotes in a comment, which
// begins with #, do not count.
func Unfinished(text string) (head string, more bool) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	var quote byte      // the open quote: ' or ", $ for $'...', or 0
	atWordStart := true // a word begins here
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != '\'':
			i++
			// In $'...' a last backslash does not join lines: the quote is still open.
			if i == len(text) && quote != '$' {
				return text[:len(text)-1], true
			}
		case quote == 0 && c == '#' && atWordStart:
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return text, false
			}
			i += end - 1 // the line end is read next: a word begins after it
		case quote == 0 && c == '\'' && i > 0 && text[i-1] == '$':
			quote = '$'
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == '$':
			if c == '\'' {
				quote = 0
			}
		case c == quote:
			quote = 0
		}
		atWordStart = quote == 0 && strings.IndexByte(" \t\n", c) >= 0
	}
	if quote != 0 {
		return text + "\n", true
	}
	return text, false
}

// Split splits a line into words as a POSIX shell would: at blanks that are neither quoted nor
// escaped. $NAME is replaced by what lookup returns, and # begins a comment. Nothing is run: a
// substitution, a pipe or a redirection is an error, as is a quote that is not closed.
func Split(line string, lookup func(name string) string) ([]string, error) {
	words, err := shell.Fields(line, lookup)
	if err == nil {
		return words, nil
	}
	var parse syntax.ParseError
	var lang syntax.LangError
	if errors.As(err, &parse) {
		return nil, fmt.Errorf("at column %d: %s", parse.Pos.Col(), parse.Text)
	}
	if errors.As(err, &lang) {
		return nil, fmt.Errorf("at column %d: %s is not allowed in a line", lang.Pos.Col(), lang.Feature)
	}
	return nil, err
}
