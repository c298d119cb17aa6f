package proxy

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/clientfile"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/usage"
)

// newTapInstall returns the command tap install.
func newTapInstall(f *cmdutil.Factory) *cobra.Command {
	var watch cmdutil.WatchOptions
	cmd := clientfile.New(&cobra.Command{
		Use:   "install CLIENT SERVER",
		Short: "record one of a client's servers with mcpc tap",
		Long: `Add mcpc tap to the command of a server in a client's configuration, and --watch
and --build if they are given. A pattern is relative to the working directory.`,
		Example: `  mcpc tap install claude-code box --yes
  mcpc tap install codex box --file config.toml --yes
  mcpc tap install cursor other --file .mcp.json --yes`,
	}, "the name of a server", func(ctx context.Context, e clientfile.Edit) error {
		if err := watch.Check(); err != nil {
			return err
		}
		for i, p := range watch.Patterns {
			path, err := filepath.Abs(p) // the client starts the server in a directory of its choice
			if err != nil {
				return cmdutil.Exit(usage.LocalIO("finding the working directory", err))
			}
			watch.Patterns[i] = path
		}
		return e.Apply(ctx, f, "already uses mcpc tap", func(old []byte) ([]byte, error) {
			return installTap(f, old, e, watch.Words())
		})
	})
	watch.AddFlags(cmd.Flags())
	return cmd
}

// newTapRemove returns the command tap remove.
func newTapRemove(f *cmdutil.Factory) *cobra.Command {
	return clientfile.New(&cobra.Command{
		Use:   "remove CLIENT SERVER",
		Short: "restore a server's original command",
		Long:  "Remove mcpc tap from the command of a server in a client's configuration.",
		Example: `  mcpc tap remove cursor box --file mcp.json --yes
  mcpc tap remove claude-desktop box --file mcp.json -y
  mcpc tap remove claude-code old -y`,
	}, "the name of a server", func(ctx context.Context, e clientfile.Edit) error {
		return e.Apply(ctx, f, "does not use mcpc tap", func(old []byte) ([]byte, error) {
			prefix, err := installedPrefix(f, e.Client.CommandOf(old, e.Server))
			if err != nil {
				return nil, err
			}
			return e.Client.Unwrap(old, e.Server, prefix)
		})
	})
}

// installTap returns the text of the configuration with mcpc tap in place of an earlier
// installation, and the words of --watch. It returns old itself if nothing changes.
func installTap(f *cmdutil.Factory, old []byte, e clientfile.Edit, watch []string) ([]byte, error) {
	previousPrefix, err := installedPrefix(f, e.Client.CommandOf(old, e.Server))
	if err != nil {
		return nil, err
	}
	unwrapped, err := e.Client.Unwrap(old, e.Server, previousPrefix)
	if err != nil {
		return nil, err
	}
	flags, err := clientfile.Flags(f)
	if err != nil {
		return nil, err
	}
	prefix := slices.Concat([]string{previousPrefix[0], "tap"}, flags, watch)
	if !e.Client.OwnDashes {
		prefix = append(prefix, "--")
	}
	isInstalled := !bytes.Equal(old, unwrapped)
	if isInstalled && slices.Equal(previousPrefix, prefix) {
		return old, nil
	}
	return e.Client.Wrap(unwrapped, e.Server, prefix)
}

// installedPrefix returns the words that an installation has put before a server's command: mcpc
// tap, its flags with a value, and --. Without an installation, it returns the words of a plain one.
func installedPrefix(f *cmdutil.Factory, argv []string) ([]string, error) {
	self, err := f.Executable()
	if err != nil {
		return nil, err
	}
	words := []string{self, "tap"}
	next := len(words) // the index in argv of the first word that is not in words
	if len(argv) > next {
		flags := clientfile.CountFlags(argv[next:])
		words = append(words, argv[next:next+flags]...)
		next += flags
	}
	if len(argv) <= next || argv[next] == "--" {
		words = append(words, "--")
	}
	return words, nil
}
