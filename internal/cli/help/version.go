package help

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/client"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// NewVersion returns the command `mcpc --version`.
func NewVersion(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version and the supported protocol revisions",
		Example: `  mcpc --version
  mcpc --version --json
  mcpc --version --jq .version`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := meant.NoArguments(f, cmd, args); err != nil {
				return err
			}
			return PrintVersion(cmd.Context(), f)
		},
	}
}

// buildInfo returns the commit that the program was built from, and its time in RFC 3339. The
// release script sets both; otherwise they are the values that the go command wrote into the
// program, with + after the commit if files had changed. They are "unknown" and "" without this
// information.
func buildInfo(f *cmdutil.Factory) (commit, date string) {
	info, ok := debug.ReadBuildInfo()
	if f.Commit != "" || !ok {
		return shortCommit(cmp.Or(f.Commit, "unknown")), f.Date
	}
	changed := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.time":
			date = s.Value
		case "vcs.modified":
			changed = map[string]string{"true": "+"}[s.Value]
		}
	}
	return shortCommit(cmp.Or(commit, "unknown")) + changed, date
}

// shortCommit returns the first 12 characters of a commit, with a trailing + if it has one.
func shortCommit(commit string) string {
	plain, changed := strings.CutSuffix(commit, "+")
	plain = plain[:min(len(plain), 12)]
	if changed {
		return plain + "+"
	}
	return plain
}

// PrintVersion prints the version, the commit and the build time for people or as JSON.
func PrintVersion(ctx context.Context, f *cmdutil.Factory) error {
	commit, date := buildInfo(f)
	when := "null"
	if date != "" {
		when = string(jsonraw.Quote(date))
	}
	raw := fmt.Sprintf(
		`{"version":%s,"commit":%s,"date":%s,"go":%s,"platform":%s,"protocols":["%s"]}`,
		jsonraw.Quote(f.Version),
		jsonraw.Quote(
			commit,
		),
		when,
		jsonraw.Quote(runtime.Version()),
		jsonraw.Quote(runtime.GOOS+"/"+runtime.GOARCH),
		strings.Join(client.Revisions(), `","`),
	)
	return cmdutil.Show(
		ctx,
		f,
		wire.Outcome{},
		cmdutil.Document(json.RawMessage(raw), func(w io.Writer, _ term.Style) error {
			day, _, _ := strings.Cut(date, "T")
			_, err := fmt.Fprintf(
				w,
				"mcpc %s, commit %s\nprotocol revisions %s\n",
				f.Version,
				strings.TrimSpace(commit+" "+day),
				strings.Join(client.Revisions(), ", "),
			)
			return err
		}),
	)
}
