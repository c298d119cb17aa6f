package serve

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/clientfile"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/shellwords"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// addInstall adds the commands serve install and serve remove to serve.
func addInstall(f *cmdutil.Factory, serve *cobra.Command) {
	serve.AddCommand(newInstall(f, serve), newRemove(f))
	// serve ignores the flag: remove reads it.
	serve.Flags().String(replacedFlag, "", "the `words` that serve install replaced")
	_ = serve.Flags().MarkHidden(replacedFlag)
}

// newInstall returns the command serve install. serve is its parent.
func newInstall(f *cmdutil.Factory, serve *cobra.Command) *cobra.Command {
	var as string
	cmd := clientfile.New(&cobra.Command{
		Use:   "install CLIENT URL|NAME",
		Short: "add a server to a client's configuration",
		Long: `Add an entry to a client's configuration that runs mcpc serve for one server: a
URL, or a NAME as with -s. If NAME is an entry that runs mcp-remote,
supergateway or mcp-proxy with a URL, mcpc serve replaces the program and keeps
the other arguments.`,
		Example: `  mcpc serve install claude-code https://api.example.com/mcp --yes
  mcpc serve install cursor demo --as fresh --file mcp.json --yes
  mcpc serve install codex demo --file config.toml --yes`,
	}, "a URL or the name of a server", func(ctx context.Context, e clientfile.Edit) error {
		if len(f.Headers) > 0 || len(f.HeaderFiles) > 0 || f.Auth.TokenFile != "" {
			return usage.New(
				"serve install writes no header fields and tokens into a configuration",
				"use them with "+wire.Run("init URL --as NAME")+", and install the session NAME",
			)
		}
		e.Creates = true
		return e.Apply(ctx, f, "already uses mcpc serve", func(old []byte) ([]byte, error) {
			return install(f, serve, old, &e, as)
		})
	})
	cmd.Flags().StringVar(&as, "as", "", "`name` of the entry, if not that of the server")
	return cmd
}

// newRemove returns the command serve remove.
func newRemove(f *cmdutil.Factory) *cobra.Command {
	return clientfile.New(&cobra.Command{
		Use:   "remove CLIENT NAME",
		Short: "remove mcpc serve from a client's configuration",
		Long: `Remove an entry that runs mcpc serve from a client's configuration. If mcpc
serve install replaced another program, that is restored.`,
		Example: `  mcpc serve remove claude-code mcp-example-com --yes
  mcpc serve remove cursor test --file mcp.json --yes
  mcpc serve remove codex test --file config.toml -y`,
	}, "the name of an entry", func(ctx context.Context, e clientfile.Edit) error {
		return e.Apply(ctx, f, "does not use mcpc serve", func(old []byte) ([]byte, error) {
			return remove(f, old, e)
		})
	})
}

// install returns the text of the configuration with an entry for the server e.Server, and sets
// e.Server to the name of the entry: as, or else a name for the server. It returns old itself if the
// entry is there. serve is the command of the entry.
func install(
	f *cmdutil.Factory,
	serve *cobra.Command,
	old []byte,
	e *clientfile.Edit,
	as string,
) ([]byte, error) {
	server := e.Server
	entries, err := e.ReadServers(f, old)
	if err != nil {
		return nil, err
	}
	self, err := f.Executable()
	if err != nil {
		return nil, err
	}
	flags, err := clientfile.Flags(f)
	if err != nil {
		return nil, err
	}
	prefix := slices.Concat([]string{self, "serve"}, flags)
	entry, isEntry := entryNamed(entries, server)
	if isEntry && as == "" {
		if isServed(self, entry.Command) {
			return old, nil
		}
		if replaced := target.BridgeWords(entry.Command); replaced > 0 {
			if flag := unknownFlag(serve, entry.Command[replaced:]); flag != "" {
				return nil, usage.New(fmt.Sprintf("mcpc serve has no flag %s, which the entry %q has", flag, server),
					"remove it from the configuration, or see "+wire.Run("serve --help-all"))
			}
			return replaceBridge(old, e, entry, replaced, prefix)
		}
	}
	_, err = membersOf(f, options{}, []string{server})
	if err != nil && isEntry && as == "" {
		return nil, usage.New(
			fmt.Sprintf("the entry %q runs something that mcpc serve does not replace", server),
			"it replaces mcp-remote, supergateway and mcp-proxy URL; "+
				wire.Run("serve install "+e.Client.Name+" URL --as NAME")+" adds an entry",
		)
	}
	if err != nil {
		return nil, err
	}
	e.Server = as
	if as == "" {
		e.Server = entryName(server)
	}
	argv := append(prefix, server)
	entry, isTaken := entryNamed(entries, e.Server)
	if !isTaken {
		return e.Client.Add(old, e.Server, argv)
	}
	isSame := len(entry.Command) > 0 && target.SameProgram(entry.Command[0], self) &&
		slices.Equal(entry.Command[1:], argv[1:])
	if isSame {
		return old, nil
	}
	return nil, takenError(e, entry, entries, server)
}

// takenError returns the error for an entry that has another server.
func takenError(e *clientfile.Edit, entry target.Server, entries []target.Server, server string) error {
	text := fmt.Sprintf("%s has another server named %q", e.Client.Title, e.Server)
	line := "serve install " + e.Client.Name + " "
	if e.File != "" {
		line += "--file " + shellwords.Quote(e.File) + " "
	}
	if target.BridgeWords(entry.Command) > 0 && slices.Contains(entry.Command, server) {
		return usage.New(text, wire.Run(line+shellwords.Quote(e.Server))+" replaces it")
	}
	return usage.New(text, wire.Run(line+shellwords.Quote(server)+" --as "+shellwords.Quote(freeName(e.Server, entries))))
}

// freeName returns the first name of name-2, name-3 and so on that no entry has.
func freeName(name string, entries []target.Server) string {
	for n := 2; ; n++ {
		candidate := fmt.Sprintf("%s-%d", name, n)
		if _, isTaken := entryNamed(entries, candidate); !isTaken {
			return candidate
		}
	}
}

// remove returns the text of the configuration without the entry e.Server, or with the program that
// serve install replaced. It returns old itself if the entry does not run mcpc serve.
func remove(f *cmdutil.Factory, old []byte, e clientfile.Edit) ([]byte, error) {
	self, err := f.Executable()
	if err != nil {
		return nil, err
	}
	argv := e.Client.CommandOf(old, e.Server)
	if len(argv) > 1 && target.SameProgram(argv[0], self) && argv[1] == "tap" {
		return nil, usage.New(
			fmt.Sprintf("mcpc tap records the server %q", e.Server),
			wire.Run("tap remove "+e.Client.Name+" "+shellwords.Quote(e.Server))+" first",
		)
	}
	if argv != nil && !isServed(self, argv) {
		return old, nil
	}
	if argv == nil { // the error says why
		return e.Client.Remove(old, e.Server)
	}
	flags := 2 + clientfile.CountFlags(argv[2:])
	if flags < len(argv) {
		if text, isReplaced := strings.CutPrefix(argv[flags], "--"+replacedFlag+"="); isReplaced {
			return e.Client.ReplaceWords(old, e.Server, flags, parseReplaced(text))
		}
	}
	return e.Client.Remove(old, e.Server)
}

// isServed reports whether a command is mcpc serve.
func isServed(self string, argv []string) bool {
	return len(argv) > 1 && target.SameProgram(argv[0], self) && argv[1] == "serve"
}

// entryNamed returns the server with a name, or false if there is none.
func entryNamed(entries []target.Server, name string) (target.Server, bool) {
	i := slices.IndexFunc(entries, func(s target.Server) bool { return s.Name == name })
	if i < 0 {
		return target.Server{}, false
	}
	return entries[i], true
}

// entryName returns the name of the entry for a server: its own, or the host of its URL with only
// the characters a-z, 0-9 and "-".
func entryName(server string) string {
	name := parseServer(server).name
	if !cmdutil.IsURL(server) {
		return name
	}
	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" {
		return name
	}
	words := strings.FieldsFunc(strings.ToLower(u.Hostname()), func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-')
	})
	return strings.Join(words, "-")
}

// replacedFlag is the flag of an entry for the words that mcpc serve replaces.
const replacedFlag = "instead-of"

// replaceBridge returns the text with mcpc serve in place of the first words of a bridge's command,
// and with these words in a flag, for remove.
func replaceBridge(
	old []byte,
	e *clientfile.Edit,
	entry target.Server,
	replaced int,
	prefix []string,
) ([]byte, error) {
	words := append(prefix, "--"+replacedFlag+"="+formatReplaced(entry.Command[:replaced]))
	return e.Client.ReplaceWords(old, e.Server, replaced-1, words)
}

// formatReplaced joins words by commas, without blanks: some clients split arguments at blanks.
func formatReplaced(words []string) string {
	escape := strings.NewReplacer("%", "%25", ",", "%2C", " ", "%20")
	escaped := make([]string, len(words))
	for i, word := range words {
		escaped[i] = escape.Replace(word)
	}
	return strings.Join(escaped, ",")
}

// parseReplaced returns the words that formatReplaced joined.
func parseReplaced(text string) []string {
	words := strings.Split(text, ",")
	for i, word := range words {
		if plain, err := url.PathUnescape(word); err == nil {
			words[i] = plain
		}
	}
	return words
}

// unknownFlag returns the first flag in words that the command does not have, or "".
func unknownFlag(cmd *cobra.Command, words []string) string {
	for _, word := range words {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
			return "--" + name
		}
	}
	return ""
}
