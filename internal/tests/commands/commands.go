// Package commands has the tree of the commands of mcpc, for tests that inspect each command.
package commands

import (
	"os"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/cli"
	"mcpc/internal/cli/cmdutil"
)

// NewFactory returns a Factory for commands that are only inspected, not run.
func NewFactory() *cmdutil.Factory {
	f := cli.New(nil, os.Stdout, os.Stderr)
	f.Now = time.Now
	f.Getenv = func(string) string { return "" }
	return f
}

// All returns each command and topic that is not hidden.
func All(t testing.TB) []*cobra.Command {
	t.Helper()
	f := NewFactory()
	f.SettleStyles()
	all := visible(cli.NewRoot(f))
	if len(all) < 12 {
		t.Fatalf("only %d commands", len(all))
	}
	return all
}

func visible(cmd *cobra.Command) []*cobra.Command {
	if cmd.Hidden {
		return nil
	}
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		all = append(all, visible(c)...)
	}
	return all
}
