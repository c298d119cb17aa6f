package recorded

import (
	"cmp"
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

// Filter reads the words of a command line as one filter. Its error shows the place. The
// recordings are judged by j if it asks for findings.
func Filter(words []string, now time.Time, j filter.Judge) (filter.Filter, error) {
	text := strings.Join(words, " ")
	f, err := filter.Parse(text, now, j)
	if err == nil {
		return f, nil
	}
	wrong, _ := errors.AsType[*filter.Error](err)
	hint := wire.Run("help filters") + " shows the language"
	if near := cmp.Or(suggest.Nearest(wrong.Word, wrong.Known), wrong.Meant); near != "" {
		hint = wire.Hint("did you mean " + near + "?")
	}
	return f, &usage.JSONError{Text: fmt.Sprintf("the filter, column %d: %s", wrong.Column(), wrong.Text), Hint: hint,
		Facts: wire.InputFacts{Raw: []byte(text), Offset: int64(wrong.Offset), Words: true}}
}

// Matching is the filter over a row. What cannot be read does not fit, and is reported.
func Matching(f *cmdutil.Factory, filter filter.Filter) func(*rows.Row) bool {
	return func(row *rows.Row) bool {
		fits, err := filter.Match(row)
		if err != nil {
			f.Warn(row.Path() + ": " + err.Error())
		}
		return fits
	}
}
