package shellwords

import (
	"errors"
	"fmt"

	"mvdan.cc/sh/v3/shell"
	"mvdan.cc/sh/v3/syntax"
)

// Split takes a line apart as a POSIX shell would: blanks part words, quotes and
// backslashes keep them together, $NAME stands for what lookup gives, and # begins a
// comment. Nothing is ever run: a substitution, a pipe or a redirection is an error,
// and so is a quote that is not closed.
func Split(line string, lookup func(name string) string) ([]string, error) {
	words, err := shell.Fields(line, lookup)
	if err == nil {
		return words, nil
	}
	var parse syntax.ParseError
	var lang syntax.LangError
	switch {
	case errors.As(err, &parse):
		return nil, fmt.Errorf("at column %d: %s", parse.Pos.Col(), parse.Text)
	case errors.As(err, &lang):
		return nil, fmt.Errorf("at column %d: %s is not allowed in a line", lang.Pos.Col(), lang.Feature)
	}
	return nil, err
}
