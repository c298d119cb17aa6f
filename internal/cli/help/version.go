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

func NewVersion(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version and the supported protocol revisions",
		Example: `  mcpc version
  mcpc version --json
  mcpc version --jq .version`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := meant.NoArguments(f, cmd, args); err != nil {
				return err
			}
			return PrintVersion(cmd.Context(), f)
		},
	}
}

// builtFrom is the commit that the program was built from and the time of it, in RFC
// 3339: as the release script says, else as the go command wrote it into the program,
// with + where something was changed since. A program built away from its repository
// has none.
func builtFrom(f *cmdutil.Factory) (commit, date string) {
	info, ok := debug.ReadBuildInfo()
	if f.Commit != "" || !ok {
		return short(cmp.Or(f.Commit, "unknown")), f.Date
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
	return short(cmp.Or(commit, "unknown")) + changed, date
}

// short shortens a commit to 12 characters, and keeps a trailing +.
func short(commit string) string {
	plain, changed := strings.CutSuffix(commit, "+")
	plain = plain[:min(len(plain), 12)]
	if changed {
		return plain + "+"
	}
	return plain
}

func PrintVersion(ctx context.Context, f *cmdutil.Factory) error {
	commit, date := builtFrom(f)
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
