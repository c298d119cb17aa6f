package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/state"
	"mcpc/internal/suggest"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// installOptions are the arguments of `mcpc tap install` and `mcpc tap remove`.
type installOptions struct {
	client, server, file string
	yes, remove          bool
}

// newTapInstall returns the command tap install, or tap remove if remove is set.
func newTapInstall(f *cmdutil.Factory, remove bool) *cobra.Command {
	o := installOptions{remove: remove}
	cmd := &cobra.Command{
		Use:   "install CLIENT SERVER",
		Short: "record one of a client's servers with mcpc tap",
		Example: `  mcpc tap install claude-code box --yes
  mcpc tap install codex box --file config.toml --yes
  mcpc tap install cursor other --file .mcp.json --yes`,
	}
	before := "Add mcpc tap to the command of a server in a client's configuration."
	if remove {
		cmd.Use = "remove CLIENT SERVER"
		cmd.Short = "restore a server's original command"
		cmd.Example = `  mcpc tap remove cursor box --file mcp.json --yes
  mcpc tap remove claude-desktop box --file mcp.json -y
  mcpc tap remove claude-code old -y`
		before = "Remove mcpc tap from the command of a server in a client's configuration."
	}
	cmd.Long = before + `
The change is shown first, without values of variables or header fields.
Everything else in the file stays unchanged, comments included, and a copy of
the original file is kept next to it (mode 0600). Nothing is started; restart
the client afterwards. A CLIENT is one of these:

` + clientRows()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 {
			return usage.New(cmd.Name()+" takes a client and the name of a server",
				cmdutil.CommandHint(cmd, " --help")+" shows the clients")
		}
		o.client = args[0]
		o.server = args[1]
		client, ok := target.ClientNamed(o.client)
		if !ok || !client.Editable() {
			return usage.New(
				fmt.Sprintf("unknown client %q", o.client),
				suggest.DidYouMean(cmdutil.CommandHint(cmd, " %s "+shellwords.Quote(o.server)), o.client, clientNames(),
					cmdutil.CommandHint(cmd, " --help")+" shows the clients"),
			)
		}
		return tapInstall(cmd.Context(), f, client, o)
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cmdutil.NoFiles
		}
		return cmdutil.CompletedWords(clientNames(), typed), cmdutil.NoFiles
	}
	cmd.Flags().StringVar(&o.file, "file", "", "configuration `file`, if not the client's default")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "write the change without asking for confirmation")
	return cmd
}

func clientRows() string {
	var b strings.Builder
	for _, c := range target.Clients {
		if c.Editable() {
			cmdutil.WriteHelpRow(&b, fmt.Sprintf("    %-17s ", c.Name), c.Title)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func clientNames() []string {
	var names []string
	for _, c := range target.Clients {
		if c.Editable() {
			names = append(names, c.Name)
		}
	}
	return names
}

// tapInstall shows the change of a client's configuration, and writes it after a confirmation.
func tapInstall(ctx context.Context, f *cmdutil.Factory, client target.Client, o installOptions) error {
	file := o.file
	if file == "" {
		file = client.File(runtime.GOOS, f.Getenv)
	}
	if folder, err := os.Getwd(); err == nil {
		client = client.ForProject(folder)
	}
	old, err := os.ReadFile(file)
	if err != nil {
		out := usage.LocalIO("reading the configuration of "+client.Title, err)
		out.Hint = "--file names another file"
		return cmdutil.Exit(out)
	}
	changed, err := editConfiguration(f, old, client, o)
	if err != nil {
		out := usage.Outcome(err)
		if entry, ok := errors.AsType[*target.EntryError](err); ok && len(entry.Servers) > 0 {
			out.Hint = wire.Hint("it has " + strings.Join(entry.Servers, ", "))
		}
		out.ServerName = file
		return cmdutil.Exit(out)
	}
	if bytes.Equal(old, changed) {
		state := "already uses mcpc tap"
		if o.remove {
			state = "does not use mcpc tap"
		}
		f.Note(fmt.Sprintf("nothing to change in %s: %q %s", term.Line(file), o.server, state))
		return nil
	}
	f.Secrets.LearnCommand(client.CommandOf(old, o.server)) // the command may be in the lines that are shown
	fmt.Fprintf(
		f.Stdout(),
		"%s\n%s",
		term.Line(file),
		lineDiff(client.Hidden(old), client.Hidden(changed), func(line string) string {
			return f.Secrets.Text(term.Line(line))
		}),
	)
	if out := confirmEdit(ctx, f, file, o); !out.OK() {
		return cmdutil.Exit(out)
	}
	backup, err := editFile(file, old, changed)
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("writing "+file, err))
	}
	f.Note("written; the previous file is " + backup + " (mode 0600); restart " + client.Title)
	return nil
}

// editConfiguration returns the changed text of the configuration: without mcpc tap for tap remove,
// else with it in place of an earlier installation. It returns old itself if nothing changes.
func editConfiguration(f *cmdutil.Factory, old []byte, client target.Client, o installOptions) ([]byte, error) {
	self, err := f.Executable()
	if err != nil {
		return nil, err
	}
	previousPrefix := installedPrefix(self, client.CommandOf(old, o.server))
	unwrapped, err := client.Unwrap(old, o.server, previousPrefix)
	if err != nil || o.remove {
		return unwrapped, err
	}
	prefix := append([]string{self, "tap"}, stateWords(f)...)
	if f.RedactFile != "" {
		file, err := filepath.Abs(f.RedactFile)
		if err != nil {
			return nil, err
		}
		prefix = append(prefix, "--redact-file", file)
	}
	if !client.OwnDashes {
		prefix = append(prefix, "--")
	}
	isInstalled := !bytes.Equal(old, unwrapped)
	if isInstalled && slices.Equal(previousPrefix, prefix) {
		return old, nil
	}
	return client.Wrap(unwrapped, o.server, prefix)
}

// installedPrefix returns the words that an installation has put before a server's command: mcpc
// tap, its flags with a value, and --. Without an installation, it returns the words of a plain one.
func installedPrefix(executable string, argv []string) []string {
	words := []string{executable, "tap"}
	next := len(words) // the index in argv of the first word that is not in words
	for len(argv) > next+1 && (argv[next] == "--state" || argv[next] == "--redact-file") {
		words = append(words, argv[next:next+2]...)
		next += 2
	}
	if len(argv) <= next || argv[next] == "--" {
		words = append(words, "--")
	}
	return words
}

// stateWords returns --state if a program started by a client would record elsewhere: clients pass
// on HOME and PATH, but hardly any other variable. It returns nil if the default directory is used.
func stateWords(f *cmdutil.Factory) []string {
	isDefault := f.State == "" && f.Getenv("XDG_STATE_HOME") == ""
	store, err := state.Open(f.State)
	if err != nil || isDefault {
		return nil
	}
	home := f.Getenv("HOME")
	if runtime.GOOS == "linux" && store.Dir() == filepath.Join(home, ".local", "state", "mcpc") {
		return nil
	}
	return []string{"--state", store.Dir()}
}

// confirmEdit asks the user to confirm the change, unless --yes is given.
func confirmEdit(ctx context.Context, f *cmdutil.Factory, file string, o installOptions) wire.Outcome {
	if o.yes {
		return wire.Outcome{}
	}
	if !f.Interactive() {
		return wire.Outcome{
			Kind:       wire.Refused,
			ServerName: file,
			Text:       "the change was not confirmed",
			Hint:       "--yes writes it without asking for confirmation",
		}
	}
	if f.Ask(ctx, "Write this change?") {
		return wire.Outcome{}
	}
	if ctx.Err() != nil {
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	}
	return wire.Outcome{Kind: wire.Refused, ServerName: file, Text: "the change was not confirmed"}
}

// editFile replaces the text of a file and keeps its permissions. Before the first change it copies
// the file, readable only by its owner because it may contain secrets. It follows links. It returns
// the path of the copy.
func editFile(file string, old, changed []byte) (backup string, err error) {
	file, err = filepath.EvalSymlinks(file)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	backup = file + ".before-mcpc"
	if err := keepOriginal(backup, old); err != nil {
		return "", err
	}
	if err := cmdutil.ReplaceFile(file, changed); err != nil {
		return "", err
	}
	return backup, os.Chmod(file, info.Mode().Perm())
}

// keepOriginal writes the copy, unless it exists: users want back the file as it was before mcpc
// changed it.
func keepOriginal(backup string, old []byte) error {
	f, err := os.OpenFile(backup, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(old)
	err = errors.Join(err, f.Close())
	if err != nil {
		_ = os.Remove(backup) // it may be incomplete
	}
	return err
}

// lineDiff returns the lines from the first to the last difference between two texts, with one line
// of context. format makes a line safe for the output.
func lineDiff(old, changed []byte, format func(string) string) string {
	a := strings.Split(string(old), "\n")
	b := strings.Split(string(changed), "\n")
	shorter := min(len(a), len(b))
	head := 0 // the number of equal lines at the start
	for head < shorter && a[head] == b[head] {
		head++
	}
	tail := 0 // the number of equal lines at the end
	for tail < shorter-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	write := func(mark string, lines []string) {
		for _, line := range lines {
			out.WriteString(mark + format(strings.TrimSuffix(line, "\r")) + "\n")
		}
	}
	afterDiff := len(a) - tail
	write("  ", a[max(0, head-1):head])
	write("- ", a[head:afterDiff])
	write("+ ", b[head:len(b)-tail])
	write("  ", a[afterDiff:min(len(a), afterDiff+1)])
	return out.String()
}
