package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/wire"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version and the revisions spoken",
		Example: `  mcpc version
  mcpc version --json
  mcpc version --jq .version`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArguments(cmd, args); err != nil {
				return err
			}
			a.printVersion(cmd.Context())
			return nil
		},
	}
}

// builtFrom is the commit that the go command wrote into the program, with + where
// something was changed since. A program built away from its repository has none.
func builtFrom() string {
	commit, changed := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value[:min(len(s.Value), 12)]
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = "+"
			}
		}
	}
	return commit + changed
}

func (a *app) printVersion(ctx context.Context) {
	commit := builtFrom()
	raw := fmt.Sprintf(`{"version":%s,"commit":%s,"go":%s,"platform":%s,"protocols":["%s"]}`, wire.Quote(a.version),
		wire.Quote(commit), wire.Quote(runtime.Version()), wire.Quote(runtime.GOOS+"/"+runtime.GOARCH), strings.Join(client.Revisions(), `","`))
	ans := answer{result: []byte(raw), messages: []*wire.Message{{Raw: []byte(raw)}}}
	ans.human = func(w io.Writer, _ render.Style) error {
		_, err := fmt.Fprintf(w, "mcpc %s, commit %s\nspeaks %s\n", a.version, commit, strings.Join(client.Revisions(), ", "))
		return err
	}
	a.show(ctx, wire.Outcome{}, ans)
}
