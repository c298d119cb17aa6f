package cmdutil

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/client/auth"
	"mcpc/internal/connect"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// OnlyURL takes a URL for the server's, and refuses other words.
func (f *Factory) OnlyURL(cmd *cobra.Command, words, argv []string) error {
	words, err := f.WithoutURL(words, argv)
	if err != nil {
		return err
	}
	return f.NoArguments(cmd, words)
}

// WithoutURL takes the first URL among the words of a command for the server's, as
// behind -s: nothing else that they could be is written so.
func (f *Factory) WithoutURL(words, argv []string) (others []string, err error) {
	at := slices.IndexFunc(words, IsURL)
	if at < 0 {
		return words, nil
	}
	others = slices.Delete(slices.Clone(words), at, at+1)
	switch {
	case f.Shell != nil:
		return nil, usage.New("every line of the shell goes to the same server", "use another terminal for another server")
	case slices.ContainsFunc(others, IsURL):
		return nil, usage.New("two servers are given", "use only one of them")
	}
	return others, f.GoTo(words[at], argv)
}

// GoTo settles that a word of the command names the server.
func (f *Factory) GoTo(server string, argv []string) error {
	switch {
	case f.ServerGiven:
		return usage.New("two servers are given: "+redact.RedactURL(server)+" and one with -s", "use only one of them")
	case argv != nil:
		return usage.New("two servers are given: "+redact.RedactURL(server)+" and one after --", "use only one of them")
	}
	f.Server, f.ServerGiven = server, true
	f.NameServer(nil)
	return nil
}

// NoArguments refuses words that a command has no use for.
func (f *Factory) NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := RunOf(cmd, " --help") + " shows what it takes"
	switch meant := f.Synonym(cmd.Name(), args[0]); {
	case meant != "":
		hint = meant
	case f.CommandIs(cmd.Name(), Alone) && args[0] != "demo":
		hint = f.BehindDashes(cmd.Name(), args)
	case cmd.Name() == "proxy" && BeginsCommand(args):
		hint = "proxy records HTTP, and tap a server's command: " + wire.Run("tap -- "+pasted(startedBy(args)))
	case cmd.Name() == "demo" && slices.Contains(CommandNames(cmd.Root()), args[0]):
		hint = "did you mean " + wire.Run("-s demo "+strings.Join(connect.QuotedWords(args), " ")) + "?"
	case cmd.Flag("to") != nil && IsURL(args[0]):
		hint = RunOf(cmd, " --to "+shellwords.Quote(args[0]))
	case cmd.Flag("script") != nil:
		hint = RunOf(cmd, " --script "+shellwords.Quote(args[0]))
	case cmd.Flag("listen") != nil:
		hint = RunOf(cmd, " --help") + " shows the flags; use --listen ADDRESS"
	case len(args) == 1 && (IsURL(args[0]) || args[0] == "demo"):
		hint = RunOf(cmd, " -s "+shellwords.Quote(args[0]))
	}
	what := "no argument"
	if strings.Contains(cmd.Use, "[URL]") {
		what = "a URL, not"
	}
	return usage.New(fmt.Sprintf("%s takes %s %q", cmd.Name(), what, strings.Join(args, " ")), hint)
}

// IsLocal reports a server on this machine; "" is the endpoint of one over stdio.
func IsLocal(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return endpoint == "" || err == nil && auth.IsLocal(endpoint) || u != nil && u.Hostname() == "localhost"
}
