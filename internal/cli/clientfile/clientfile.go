// Package clientfile changes the configurations of other programs: it shows a change, asks for
// confirmation, keeps a copy of the original file and replaces the file in one step.
package clientfile

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
	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/state"
	"mcpc/internal/suggest"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// An Edit changes the entry of one server in the configuration of a client.
type Edit struct {
	Client target.Client
	Server string
	// File is the configuration file; "" is the client's default. Yes is true if the user is not asked.
	File string
	Yes  bool
	// Creates is true if a file that does not exist is created.
	Creates bool
}

// Note ends the help of a command that edits a configuration. The clients follow.
const Note = `
The change is shown first, without values of variables or header fields.
Everything else in the file stays unchanged, comments included, and a copy of
the original file is kept next to it (mode 0600). Nothing is started; restart
the client afterwards. A CLIENT is one of these:

`

// New returns a command that takes a client and the name of a server, with its flags. cmd has its
// texts, what names the second argument, and run makes the change.
func New(cmd *cobra.Command, what string, run func(context.Context, Edit) error) *cobra.Command {
	var e Edit
	cmd.Long += Note + clientRows()
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 {
			return usage.New(cmd.Name()+" takes a client and "+what,
				"the clients are "+wire.Hint(strings.Join(clientNames(), ", ")))
		}
		client, ok := target.ClientNamed(args[0])
		if !ok || !client.Editable() {
			return usage.New(
				fmt.Sprintf("unknown client %q", args[0]),
				suggest.DidYouMean(
					cmdutil.CommandHint(cmd, " %s "+shellwords.Quote(args[1])+givenFlags(cmd)), args[0], clientNames(),
					"the clients are "+wire.Hint(strings.Join(clientNames(), ", ")),
				),
			)
		}
		if folder, err := os.Getwd(); err == nil {
			client = client.ForProject(folder)
		}
		e.Client = client
		e.Server = args[1]
		return run(cmd.Context(), e)
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cmdutil.NoFiles
		}
		return cmdutil.CompletedWords(clientNames(), typed), cmdutil.NoFiles
	}
	cmd.Flags().StringVar(&e.File, "file", "", "configuration `file`, if not the client's default")
	cmd.Flags().BoolVarP(&e.Yes, "yes", "y", false, "write the change without asking for confirmation")
	return cmd
}

// givenFlags returns the command's own flags of the command line, each after a space.
func givenFlags(cmd *cobra.Command) string {
	var b strings.Builder
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			b.WriteString(" --" + flag.Name)
		}
		if flag.Changed && flag.Value.Type() != "bool" {
			b.WriteString(" " + shellwords.Quote(flag.Value.String()))
		}
	})
	return b.String()
}

// clientRows returns the clients with an editable configuration, as rows of a help text.
func clientRows() string {
	var b strings.Builder
	for _, c := range target.Clients {
		if c.Editable() {
			cmdutil.WriteHelpRow(&b, fmt.Sprintf("    %-17s ", c.Name), c.Title)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// clientNames returns the names of the clients with an editable configuration.
func clientNames() []string {
	var names []string
	for _, c := range target.Clients {
		if c.Editable() {
			names = append(names, c.Name)
		}
	}
	return names
}

// Apply reads the configuration, shows what change makes of it, and writes that after a confirmation.
// change may set e.Server. If it returns the text unchanged, there is nothing to do, and unchanged
// says why.
func (e *Edit) Apply(
	ctx context.Context,
	f *cmdutil.Factory,
	unchanged string,
	change func(old []byte) ([]byte, error),
) error {
	file := e.File
	if file == "" {
		file = e.Client.File(runtime.GOOS, f.Getenv)
	}
	old, err := os.ReadFile(file)
	isNew := e.Creates && errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		out := usage.LocalIO("reading the configuration of "+e.Client.Title, err)
		out.Hint = "--file names another file"
		return cmdutil.Exit(out)
	}
	changed, err := change(old)
	if exit, isExit := errors.AsType[*cmdutil.ExitError](err); isExit {
		return exit
	}
	if err != nil {
		out := usage.Outcome(err)
		if entry, ok := errors.AsType[*target.EntryError](err); ok && len(entry.Servers) > 0 {
			out.Hint = wire.Hint("it has " + strings.Join(entry.Servers, ", "))
		}
		out.ServerName = file
		return cmdutil.Exit(out)
	}
	if bytes.Equal(old, changed) {
		f.Note(fmt.Sprintf("nothing to change in %s: %q %s", term.Line(file), e.Server, unchanged))
		return nil
	}
	f.Secrets.Variables = true // the lines that are shown may have references to variables
	for _, text := range [][]byte{old, changed} {
		servers, _ := e.ReadServers(f, text) // an invalid file is not shown
		for _, s := range servers {
			f.Secrets.LearnCommand(s.Command)
		}
	}
	fmt.Fprintf(
		f.Stdout(),
		"%s\n%s",
		term.Line(file),
		lineDiff(e.Client.Hidden(old), e.Client.Hidden(changed), func(line string) string {
			return f.Secrets.Text(term.Line(line))
		}),
	)
	if out := confirmEdit(ctx, f, file, e.Yes); !out.OK() {
		return cmdutil.Exit(out)
	}
	if isNew {
		if err := createFile(file, changed); err != nil {
			return cmdutil.Exit(usage.LocalIO("writing "+file, err))
		}
		f.Note("written; restart " + e.Client.Title)
		return nil
	}
	backup, isNewBackup, err := editFile(file, old, changed)
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("writing "+file, err))
	}
	what := "the first original"
	if isNewBackup {
		what = "the previous file"
	}
	f.Note("written; " + what + " is " + backup + " (mode 0600); restart " + e.Client.Title)
	return nil
}

// ReadServers returns the servers in the text of the configuration; an empty text has none.
func (e *Edit) ReadServers(f *cmdutil.Factory, text []byte) ([]target.Server, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	doc, err := target.Decode(e.Client.File(runtime.GOOS, f.Getenv), text)
	if err != nil {
		return nil, err
	}
	const file, folder = "", ""
	return target.Servers(e.Client, file, folder, doc), nil
}

// createFile writes a new file, readable only by its owner, and the folders around it.
func createFile(file string, text []byte) error {
	if _, err := os.Lstat(file); err == nil {
		return errors.New("it is a link without a file, or was created meanwhile; nothing was written")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return cmdutil.ReplaceFile(file, text)
}

// Flags returns the flags for the command line in a configuration: the folder of the state and the
// file of what is to be hidden, if they are not the defaults.
func Flags(f *cmdutil.Factory) ([]string, error) {
	words := stateWords(f)
	if f.RedactFile == "" {
		return words, nil
	}
	file, err := filepath.Abs(f.RedactFile)
	if err != nil {
		return nil, err
	}
	return append(words, "--redact-file", file), nil
}

// CountFlags returns how many words at the start of words are flags that Flags returned, or flags of a
// watching tap (cmdutil.WatchOptions.Words).
func CountFlags(words []string) int {
	count := 0
	for len(words) > count+1 && (words[count] == "--state" || words[count] == "--redact-file") {
		count += 2
	}
	for len(words) > count && isWatchFlag(words[count]) {
		count++
	}
	return count
}

// isWatchFlag reports whether a word is a flag of a watching tap with its value.
func isWatchFlag(word string) bool {
	name, _, hasValue := strings.Cut(word, "=")
	return hasValue && slices.Contains([]string{"--watch", "--build", "--drain", "--hold"}, name)
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
func confirmEdit(ctx context.Context, f *cmdutil.Factory, file string, yes bool) wire.Outcome {
	if yes {
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
// the path of the copy, and whether the copy is of this change. It fails if the text is not old
// anymore: the client may have changed it.
func editFile(file string, old, changed []byte) (string, bool, error) {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return "", false, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", false, err
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, old) {
		return "", false, errors.Join(errors.New("the file has changed meanwhile; nothing was written"), err)
	}
	backup := file + ".before-mcpc"
	isNew, err := keepOriginal(backup, old)
	if err != nil {
		return "", false, err
	}
	if err := cmdutil.ReplaceFile(file, changed); err != nil {
		return "", false, err
	}
	return backup, isNew, os.Chmod(file, info.Mode().Perm())
}

// keepOriginal writes the copy, unless it exists: users want back the file as it was before mcpc
// changed it. It reports whether it wrote the copy.
func keepOriginal(backup string, old []byte) (bool, error) {
	f, err := os.OpenFile(backup, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.Write(old)
	err = errors.Join(err, f.Close())
	if err != nil {
		_ = os.Remove(backup) // it may be incomplete
	}
	return true, err
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
