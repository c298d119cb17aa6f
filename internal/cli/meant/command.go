// Package meant makes hints for command lines with unknown words and flags: it guesses the command
// line that the user meant. It never runs the command line of a hint.
package meant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// fileHint returns the hint for a file that is not a server, by its extension; "" if mcpc has no
// hint for the file, or if the file does not exist.
func fileHint(name string) wire.Hint {
	if !cmdutil.IsFile(name) {
		return ""
	}
	if strings.HasSuffix(name, ".mcpc.yaml") {
		return "did you mean " + wire.Run("run "+shellwords.Quote(name)) + "?"
	}
	if capture.NamesRecording(name) {
		return "did you mean " + wire.Run("log --file "+shellwords.Quote(name)) + "?"
	}
	if strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".toml") {
		return wire.Run("servers") + " lists configured servers, and -s NAME selects one"
	}
	return ""
}

// UnknownCommand returns the usage error for args if args[0] is not a subcommand of cmd; nil if
// args is empty.
func UnknownCommand(f *cmdutil.Factory, cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasParent() && cmdutil.IsURL(args[0]) { // cmd is mcpc itself
		url := shellwords.Quote(args[0])
		hint := wire.Run("init "+url) + " opens a session, " + wire.Run("list "+url) + " shows its tools"
		if len(args) > 1 && slices.Contains(cmdutil.CommandNames(cmd), args[1]) {
			hint = "did you mean " + wire.Run(strings.Join(connect.QuotedWords(args[1:]), " ")+" -s "+url) + "?"
		} else if meant := serverHint(f, cmd, args); meant != "" {
			hint = meant
		}
		return usage.New("a URL is not a command", hint)
	}
	hint := wordsHint(f, cmd, args)
	if hint == "" && cmd.HasParent() {
		hint = cmdutil.CommandHint(cmd, " --help") + " shows the commands"
	} else if hint == "" {
		hint = cmdutil.CommandsHint
	}
	return usage.New(fmt.Sprintf("unknown command %q", args[0]), hint)
}

// wordsHint returns the hint for args if args[0] is not a subcommand of cmd; "" if mcpc does not
// know the words as a command line of a different program either. It tries the most certain
// guess first.
func wordsHint(f *cmdutil.Factory, cmd *cobra.Command, args []string) wire.Hint {
	hinter := newHinter(f, cmd)
	words, argv := cmdutil.SplitDash(cmd, args)
	isFlag := func(word string) bool { return len(word) > 1 && word[0] == '-' }
	if at := slices.IndexFunc(words, isFlag); at > 0 {
		words = words[:at]
		argv = nil // the line was not parsed, as with --help
	}
	if len(words) == 0 { // args begins with --
		words = args[:1]
	}
	near := suggest.Nearest(args[0], cmdutil.CommandNames(cmd))
	if cmd.HasParent() {
		if hint := hinter.commandHint(words, argv); hint != "" {
			return hint
		}
		if near != "" {
			return "did you mean " + cmdutil.CommandHint(cmd, " "+near) + "?"
		}
		if s := findSynonym(plainWord(hinter.path) + " " + classOf(words)); s != nil {
			return hinter.synonymHint(s.Hint, words, argv)
		}
		return ""
	}
	if quoted := strings.Fields(args[0]); len(args) == 1 && len(quoted) > 1 {
		return wordsHint(f, cmd, quoted) // the words are one command line in quotes
	}
	command := commandFrom(args)
	hint := fileHint(args[0])
	if hint == "" {
		hint = dashHint(args)
	}
	if hint == "" && command != nil && (IsServerCommand(args) || cmdutil.IsFile(args[0])) {
		return "did you mean " + StartHint(f, "list", command) + "?"
	}
	if hint == "" {
		hint = callHint(words, hinter.commandHint(words, argv))
	}
	if hint != "" {
		return hint
	}
	if near != "" {
		return "did you mean " + cmdutil.CommandHint(cmd, " "+near) + "?"
	}
	hint = serverHint(f, cmd, words)
	if hint != "" {
		return hint
	}
	// A single word that happens to be a program on the path is no server's command.
	if command != nil && (len(args) > 1 || slices.Contains(runners, args[0])) {
		return "did you mean " + StartHint(f, "list", command) + "?"
	}
	return ""
}

// callHint returns the hint to write call before words if the second word is an argument of a tool;
// otherwise other. A word that has a different hint may also be the name of a tool.
func callHint(words []string, other wire.Hint) wire.Hint {
	isCall := func(part wire.HintPart) bool {
		command, _, _ := strings.Cut(part.Text, " ")
		return part.IsCommand && command == "call"
	}
	if len(words) < 2 || slices.ContainsFunc(other.Parts(), isCall) {
		return other
	}
	if at, _ := arguments.Operator(words[1]); at > 0 || strings.HasPrefix(words[1], "{") {
		return "did you mean " + wire.RunOnServer("call "+quoteSafely(words)) + "?"
	}
	return other
}

// serverHint returns the hint for words that begin with the host of a server, or with the name of a
// server before a command, or with @NAME, or "". If it returns a hint, it may have set the server
// of f to that server.
func serverHint(f *cmdutil.Factory, cmd *cobra.Command, words []string) wire.Hint {
	url := urlOfHost(words[0])
	rest := words[1:]
	server := url
	if server == "" {
		server = strings.TrimPrefix(words[0], "@")
	}
	if !shellwords.Inert(server) || redact.RedactURL(server) != server { // a hint must not repeat a secret
		return ""
	}
	isNamed := server != words[0] // a host or @NAME; any other word may be no server
	if len(rest) == 0 && isNamed {
		rest = []string{"list"}
	} else if len(rest) == 0 {
		return ""
	}
	if slices.Contains(cmdutil.CommandNames(cmd), rest[0]) {
		return "did you mean " + wire.Run("-s "+shellwords.Quote(server)+" "+quoteSafely(rest)) + "?"
	}
	before := f.Server
	given := f.ServerGiven
	// If there is a hint, f keeps the server: the hint is rendered later.
	f.Server = server
	f.ServerGiven = true // the commands in the hint ask this server
	hint := newHinter(f, cmd).commandHint(rest, nil)
	if hint == "" {
		f.Server = before
		f.ServerGiven = given
	}
	return hint
}

// dashHint returns the hint for a word that begins with a dash, which an editor made of two
// hyphens; "" if no word begins with a dash.
func dashHint(words []string) wire.Hint {
	at := slices.IndexFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "–") || strings.HasPrefix(w, "—")
	})
	if at < 0 {
		return ""
	}
	flag := strings.TrimLeft(words[at], "–—-")
	if flag != "" && !shellwords.Inert(flag) { // the hint does not repeat special characters
		flag = ""
	}
	return wire.Hint("write two hyphens: --" + flag)
}
