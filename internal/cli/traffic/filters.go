package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"mcpc/internal/capture/filter"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/judged"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// filterOf reads the words of a command line as one filter. Its error shows the
// place. The recordings are judged if it asks for findings.
func filterOf(a *cmdutil.Factory, words []string, j *judged.Findings) (filter.Filter, error) {
	if err := ofEachServer(a); err != nil {
		return filter.Filter{}, err
	}
	text := strings.Join(words, " ")
	f, err := filter.Parse(text, a.Now(), j)
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

// ofEachServer rejects -s on a command that reads recordings, which are of all servers.
func ofEachServer(f *cmdutil.Factory) error {
	if !f.ServerGiven || f.Shell != nil {
		return nil
	}
	return usage.New("-s does not select recorded exchanges", "use the filter target: "+wire.Run("log target:"+shellwords.Quote(redact.RedactURL(f.Server))))
}
