package traffic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/capture/filter"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// parseFilter parses the words of a command line as one filter.
func parseFilter(f *cmdutil.Factory, words []string, findings *recorded.RowFindings) (filter.Filter, error) {
	if err := rejectServer(f); err != nil {
		return filter.Filter{}, err
	}
	return recorded.Filter(resolveLast(f, words), f.Now(), findings)
}

// resolveLast replaces a first word "last" or "run:last" by the filter for the newest run. A single number is
// searched for as a text; a note suggests the filter for the run with that number.
func resolveLast(f *cmdutil.Factory, words []string) []string {
	if len(words) > 0 && words[0] == "run:last" {
		words = append([]string{"last"}, words[1:]...)
	}
	if len(words) == 0 || words[0] != "last" && !isNumber(strings.Replace(words[0], ".", "", 1)) {
		return words
	}
	ring, err := f.Env.Ring()
	if err != nil { // without recordings "last" is a text
		return words
	}
	if words[0] != "last" && strings.Contains(words[0], ".") {
		f.Note(words[0] + " is searched for as a text; mcpc show " + words[0] + " shows the exchange")
		return words
	}
	if number, err := strconv.Atoi(words[0]); err == nil {
		if _, err := ring.Find(number); err == nil && len(words) == 1 {
			f.Note(words[0] + " is searched for as a text; run:" + words[0] + " selects the run")
		}
		return words
	}
	runs, err := ring.Runs()
	if err != nil || len(runs) == 0 {
		return words
	}
	return append([]string{fmt.Sprintf("run:%d", runs[len(runs)-1].Number)}, words[1:]...)
}

// namesOneRun reports whether the words of a filter name one run: last, or run:N.
func namesOneRun(words []string) bool {
	if len(words) > 0 && (words[0] == "last" || words[0] == "run:last") {
		return true
	}
	return slices.ContainsFunc(words, func(word string) bool {
		number, isRun := strings.CutPrefix(word, "run:")
		return isRun && isNumber(number)
	})
}

func isNumber(word string) bool { return word != "" && strings.Trim(word, "0123456789") == "" }

// rejectServer returns an error if -s is given: recordings are not selected by it.
func rejectServer(f *cmdutil.Factory) error {
	if !f.ServerGiven || f.Shell != nil {
		return nil
	}
	return usage.New("-s does not select recorded exchanges",
		"use the filter target: "+wire.Run("log target:"+shellwords.Quote(redact.RedactURL(f.Server))))
}
