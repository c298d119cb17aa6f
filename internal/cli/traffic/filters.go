package traffic

import (
	"mcpc/internal/capture/filter"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/judged"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// filterOf reads the words of a command line as one filter.
func filterOf(a *cmdutil.Factory, words []string, j *judged.Findings) (filter.Filter, error) {
	if err := ofEachServer(a); err != nil {
		return filter.Filter{}, err
	}
	return recorded.Filter(words, a.Now(), j)
}

// ofEachServer rejects -s on a command that reads recordings, which are of all servers.
func ofEachServer(f *cmdutil.Factory) error {
	if !f.ServerGiven || f.Shell != nil {
		return nil
	}
	return usage.New("-s does not select recorded exchanges", "use the filter target: "+wire.Run("log target:"+shellwords.Quote(redact.RedactURL(f.Server))))
}
