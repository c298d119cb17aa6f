package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
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

func (a *app) printVersion(ctx context.Context) {
	raw := fmt.Sprintf(`{"version":%s,"go":%s,"platform":%s,"protocols":["%s"]}`, wire.Quote(a.version),
		wire.Quote(runtime.Version()), wire.Quote(runtime.GOOS+"/"+runtime.GOARCH), strings.Join(client.Revisions(), `","`))
	ans := answer{result: []byte(raw), messages: []*wire.Message{{Raw: []byte(raw)}}}
	ans.human = func(w io.Writer, _ render.Style) error {
		_, err := fmt.Fprintf(w, "mcpc %s\nspeaks %s\n", a.version, strings.Join(client.Revisions(), ", "))
		return err
	}
	a.show(ctx, wire.Outcome{}, ans)
}
