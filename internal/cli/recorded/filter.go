package recorded

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Filter parses the words of a command line as one filter. Its error shows the place of the
// mistake. The judge provides the findings of rows, for filters that ask for them.
func Filter(words []string, now time.Time, j filter.Judge) (filter.Filter, error) {
	text := strings.Join(words, " ")
	f, err := filter.Parse(text, now, j)
	if err == nil {
		return f, nil
	}
	fault, _ := errors.AsType[*filter.Error](err)
	hint := wire.Run("help filters") + " shows the language"
	near := suggest.Nearest(fault.Word, fault.Known)
	if near == "" {
		near = fault.Suggestion
	}
	if near != "" {
		hint = wire.Hint("did you mean " + near + "?")
	}
	return f, &usage.JSONError{
		Text:  fmt.Sprintf("the filter, column %d: %s", fault.Column(), fault.Text),
		Hint:  hint,
		Facts: wire.InputFacts{Raw: []byte(text), Offset: int64(fault.Offset), IsCommandLine: true},
	}
}

// Matching returns a function that reports whether a row matches the filter. An unreadable row does
// not match, and causes a warning.
func Matching(f *cmdutil.Factory, filter filter.Filter) func(*rows.Row) bool {
	return func(row *rows.Row) bool {
		matches, err := filter.Match(row)
		if err != nil {
			f.Warn(row.Path() + ": " + err.Error())
		}
		return matches
	}
}
