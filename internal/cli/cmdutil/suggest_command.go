package cmdutil

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/glossary"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/suggest"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// IsName reports a word as an argument may be called: letters first, and no more signs
// than - and _.
func IsName(word string) bool {
	return Inert(word) && !arguments.IsScalar(word) && !strings.ContainsAny(word, " ./:@%+,=") && !strings.Contains("0123456789", word[:1])
}

// runners are programs that start a server which they are told.
var runners = []string{"npx", "bunx", "pnpx", "npm", "uvx", "uv", "pipx", "node", "bun", "deno", "tsx", "python", "python3",
	"docker", "podman", "java", "dotnet", "ruby", "php", "cargo", "go", "sh", "bash", "env", "cmd", "powershell", "pwsh"}

// runBy are programs that run a file of that ending.
var runBy = map[string][]string{".js": {"node"}, ".mjs": {"node"}, ".cjs": {"node"}, ".ts": {"npx", "tsx"}, ".py": {"python3"},
	".rb": {"ruby"}, ".php": {"php"}, ".jar": {"java", "-jar"}, ".sh": {"sh"}}

// startedBy is the command of a server that words are, perhaps: one that a program or a
// file begins; nil is none.
func startedBy(words []string) []string {
	first := words[0]
	switch run := runBy[strings.ToLower(filepath.Ext(first))]; {
	case slices.Contains(runners, first):
		return words
	case IsFile(first) && run != nil:
		return slices.Concat(run, words)
	case IsFile(first) && filepath.Base(first) == first && isProgram("."+string(filepath.Separator)+first):
		return slices.Concat([]string{"." + string(filepath.Separator) + first}, words[1:])
	case isProgram(first):
		return words
	case isPackage(first):
		return slices.Concat([]string{"npx", "-y"}, words)
	}
	return nil
}

// isPackage reports whether a word is the name of an npm package in a scope.
func isPackage(word string) bool {
	scope, name, found := strings.Cut(word, "/")
	return found && strings.HasPrefix(scope, "@") && len(scope) > 1 && name != "" && !strings.Contains(name, "/") && Inert(word)
}

func isProgram(word string) bool {
	_, err := exec.LookPath(word)
	return err == nil
}

// ServerCommand returns the command of a server that words are: a program that runs servers, with what it runs, or a
// file with the program that runs it. It returns nil for other words.
func ServerCommand(words []string) []string {
	if len(words) == 0 || len(words) == 1 && !IsFile(words[0]) {
		return nil
	}
	if argv := startedBy(words); argv != nil && (slices.Contains(runners, argv[0]) || IsFile(words[0])) {
		return argv
	}
	return nil
}

// StartedAmong is the command of a server among the words of a command line with a flag
// that is not known, which may be the server's: nil where the command's first word may be
// the name of a tool that is called as a program is.
func (f *Factory) StartedAmong(cmd *cobra.Command) []string {
	first := cmd.Flags().Arg(0)
	at := slices.Index(f.Args, first)
	if first == "" || at < 0 || cmd.HasParent() && !f.CommandIs(cmd.Name(), Alone|Starts) {
		return nil
	}
	return startedBy(f.Args[at:])
}

// CommandStarting is the command line of mcpc that speaks with a server's command. Where
// the command's last word is one of mcpc's commands, that is the one. Words that are
// secret are left out.
func (f *Factory) CommandStarting(verb string, argv []string) wire.Hint {
	if last := argv[len(argv)-1]; len(argv) > 1 && f.CommandIs(last, Alone) {
		verb, argv = last, argv[:len(argv)-1]
	}
	if !f.CommandIs(verb, Alone|Starts) {
		verb = "list"
	}
	line := verb + " -- " + shellwords.Quote(argv[0])
	switch {
	case !slices.Equal(redact.RedactCommand(argv), argv):
		line += " ..."
	case len(argv) > 1:
		line += " " + strings.Join(connect.QuotedWords(argv[1:]), " ")
	}
	return wire.Run(line)
}

// meantByFile is the command for a file that is there and is no server; "" where that is
// not known of it.
func meantByFile(name string) wire.Hint {
	switch {
	case !IsFile(name):
		return ""
	case strings.HasSuffix(name, ".mcpc.yaml"):
		return "did you mean " + wire.Run("run "+shellwords.Quote(name)) + "?"
	case strings.HasSuffix(strings.TrimSuffix(name, ".zst"), ".jsonl"):
		return "did you mean " + wire.Run("log --file "+shellwords.Quote(name)) + "?"
	case strings.HasSuffix(name, ".json"), strings.HasSuffix(name, ".toml"):
		return wire.Run("servers") + " lists configured servers, and -s NAME selects one"
	}
	return ""
}

// MeantByPath is what -s names where that is no server but something on this machine,
// and the hint for it; what is "" where it is the name of a program, as a server's may be.
func (f *Factory) MeantByPath(text string) (what string, hint wire.Hint) {
	if text == "" || strings.Contains(text, "://") {
		return "", ""
	}
	behind := func(command string) wire.Hint {
		return "a server's command goes after --: " + wire.Run("list -- "+command)
	}
	info, err := os.Stat(text)
	words := strings.Fields(text)
	switch {
	case err == nil && info.IsDir():
		return "a folder", behind("COMMAND")
	case err == nil:
		return "a file", cmp.Or(meantByFile(text), f.BehindDashes("list", []string{text}))
	case len(words) > 0 && startedBy(words) != nil:
		hint = behind(shellwords.Quote(startedBy(words)[0]))
		if len(words) > 1 {
			return "a command", behind(shellwords.Quote(startedBy(words)[0]) + " ...") // a word may be a secret
		}
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "."), strings.HasPrefix(text, "~"):
		return "a path that does not exist", behind("COMMAND")
	}
	return "", hint
}

// Misplaced is the error of a command that takes a name, where its first word seems to name
// the server, or its arguments follow --: no tool is called as a URL, and each word after
// a name has a name of its own.
func (f *Factory) Misplaced(verb string, words, argv []string) error {
	const where = " takes a name; name the server with -s"
	takesWords := verb == "call" || verb == "prompt"
	isOther := func(word string) bool { at, _ := arguments.Operator(word); return at < 1 }
	if takesWords && len(argv) > 0 && !slices.ContainsFunc(argv, isOther) {
		f.NameServer(nil) // what follows -- is no server's command
		return usage.New("a server's command goes after --, and these are arguments",
			"did you mean "+wire.RunOnServer(strings.Join(connect.QuotedWords(slices.Concat([]string{verb}, words, argv)), " "))+"?")
	}
	switch {
	case len(words) == 0 || f.ServerGiven || argv != nil || f.Shell != nil:
		return nil
	case len(words) == 1 && takesWords && IsURL(words[0]):
		return usage.New(verb+where, wire.Run("list "+shellwords.Quote(words[0]))+" shows the tools")
	case len(words) == 1 || !arguments.IsUnnamed(words[1]):
		return nil
	case slices.Contains(runners, words[0]) && (IsFile(words[1]) || strings.HasSuffix(words[0], "x")), IsFile(words[0]):
		return usage.New(verb+" takes a name; a server's command goes after --", wire.Run(verb+" NAME -- "+shellwords.Quote(words[0])+" ..."))
	case words[0] == connect.DemoEndpoint || IsURL(words[0]):
		return usage.New(verb+where,
			"did you mean "+wire.Run("-s "+shellwords.Quote(words[0])+" "+verb+" "+strings.Join(connect.QuotedWords(words[1:]), " "))+"?")
	}
	return nil
}

// flagsOfMCPC are flags that users type after the command of a server, and that few servers have.
var flagsOfMCPC = []string{"json", "jq", "wire", "explain", "no-validate", "curl", "dry-run", "max-time"}

// NoteFlagsAfterDashes notes a flag of mcpc among the arguments of a server's command, where mcpc does not read it.
func (f *Factory) NoteFlagsAfterDashes(cmd *cobra.Command, argv []string) {
	if len(argv) == 0 || !f.CommandIs(cmd.Name(), Asks) || filepath.Base(argv[0]) == "mcpc" {
		return
	}
	for _, word := range argv[1:] {
		flag, isLong := strings.CutPrefix(word, "--")
		name, _, _ := strings.Cut(flag, "=")
		if isLong && slices.Contains(flagsOfMCPC, name) && cmd.Flags().Lookup(name) != nil {
			f.Note("--" + name + " after -- is an argument of the server's command; a flag of mcpc goes before --")
			return
		}
	}
}

// BehindDashes is the hint for words that a command has no use for.
func (f *Factory) BehindDashes(verb string, words []string) wire.Hint {
	if hint := dashed(words); hint != "" {
		return hint
	}
	if url := urlOfHost(words[0]); url != "" && !IsFile(words[0]) {
		return "did you mean " + wire.Run(verb+" "+url) + "?"
	}
	if argv := startedBy(words); argv != nil {
		return "a server's command goes after --: " + f.CommandStarting(verb, argv)
	}
	return "a server's command goes after --, a URL or a session after -s"
}

// UnknownCommand returns the error for a word that is no command of cmd.
func (f *Factory) UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasParent() && IsURL(args[0]) {
		url := shellwords.Quote(args[0])
		hint := wire.Run("init "+url) + " opens a session, " + wire.Run("list "+url) + " shows its tools"
		if len(args) > 1 && slices.Contains(CommandNames(cmd), args[1]) {
			hint = "did you mean " + wire.Run(strings.Join(connect.QuotedWords(args[1:]), " ")+" -s "+url) + "?"
		} else if meant := f.meantByServer(cmd, args); meant != "" {
			hint = meant
		}
		return usage.New("a URL is not a command", hint)
	}
	hint := cmp.Or(f.meantByWords(cmd, args), RunOf(cmd, " --help")+" shows the commands")
	return usage.New(fmt.Sprintf("unknown command %q", args[0]), hint)
}

// meantByWords returns the hint for words of which the first is no command of cmd; "" if they are unknown, too.
func (f *Factory) meantByWords(cmd *cobra.Command, args []string) wire.Hint {
	meant := f.meaningOf(cmd)
	words, argv := SplitDash(cmd, args)
	if at := slices.IndexFunc(words, isFlag); at > 0 {
		words, argv = words[:at], nil // of a line that was not parsed, as before --help
	}
	if len(words) == 0 {
		words = args[:1]
	}
	near := suggest.Nearest(args[0], CommandNames(cmd))
	if cmd.HasParent() {
		if hint := meant.commandMeant(words, argv); hint != "" || near != "" {
			return cmp.Or(hint, "did you mean "+RunOf(cmd, " "+near)+"?")
		}
		return meant.wordMeant(words, argv)
	}
	if quoted := strings.Fields(args[0]); len(args) == 1 && len(quoted) > 1 {
		return f.meantByWords(cmd, quoted) // a command line in quotes
	}
	command := startedBy(args)
	hint := cmp.Or(meantByFile(args[0]), dashed(args))
	if hint == "" && command != nil && (BeginsCommand(args) || IsFile(args[0])) {
		return "did you mean " + f.CommandStarting("list", command) + "?"
	}
	if hint = cmp.Or(hint, meantByCall(words, meant.commandMeant(words, argv))); hint != "" {
		return hint
	}
	if near != "" {
		return "did you mean " + RunOf(cmd, " "+near) + "?"
	}
	if hint = f.meantByServer(cmd, words); hint != "" {
		return hint
	}
	if command != nil && (len(args) > 1 || slices.Contains(runners, args[0])) {
		return "did you mean " + f.CommandStarting("list", command) + "?"
	}
	return ""
}

func isFlag(word string) bool { return len(word) > 1 && strings.HasPrefix(word, "-") }

// dashed returns the hint for words with a dash that an editor made of two hyphens; "" if there is none.
func dashed(words []string) wire.Hint {
	at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "–") || strings.HasPrefix(w, "—") })
	if at < 0 {
		return ""
	}
	flag := strings.TrimLeft(words[at], "–—-")
	if flag != "" && !Inert(flag) {
		flag = ""
	}
	return wire.Hint("write two hyphens: --" + flag)
}

// meantByCall returns the hint for a tool that is called without the word call, else the other hint: a name that
// means something else here may be a tool's, too.
func meantByCall(words []string, other wire.Hint) wire.Hint {
	if len(words) < 2 || strings.Contains(string(other), "call ") {
		return other
	}
	if at, _ := arguments.Operator(words[1]); at > 0 || strings.HasPrefix(words[1], "{") {
		return "did you mean " + wire.RunOnServer("call "+pasted(words)) + "?"
	}
	return other
}

// meantByServer returns the hint for the host of a server, or for its name before a command; "" if there is none.
func (f *Factory) meantByServer(cmd *cobra.Command, words []string) wire.Hint {
	url, rest := urlOfHost(words[0]), words[1:]
	server := cmp.Or(url, strings.TrimPrefix(words[0], "@"))
	if !Inert(server) || redact.RedactURL(server) != server {
		return ""
	}
	isNamed := server != words[0]
	switch {
	case len(rest) == 0 && isNamed:
		rest = []string{"list"}
	case len(rest) == 0:
		return ""
	}
	if slices.Contains(CommandNames(cmd), rest[0]) {
		return "did you mean " + wire.Run("-s "+shellwords.Quote(server)+" "+pasted(rest)) + "?"
	}
	before, given := f.Server, f.ServerGiven
	f.Server, f.ServerGiven = server, true // for the commands of the hint
	hint := f.meaningOf(cmd).commandMeant(rest, nil)
	if hint == "" {
		f.Server, f.ServerGiven = before, given
	}
	return hint
}

// urlOfHost returns the URL of a host that was named without its scheme; "" if a word is none.
func urlOfHost(word string) string {
	host, _, _ := strings.Cut(word, "/")
	name, port, hasPort := strings.Cut(host, ":")
	at := strings.LastIndexByte(name, '.')
	isName := hasPort && port != "" && strings.Trim(port, "0123456789") == "" || name == "localhost" ||
		at > 0 && slices.Contains([]string{"com", "org", "net", "io", "dev", "ai", "app", "cloud", "local"}, name[at+1:])
	if !isName || runBy[strings.ToLower(filepath.Ext(word))] != nil {
		return ""
	}
	_, err := target.Parse(target.Input{Flag: word, FlagGiven: true})
	if bad, ok := errors.AsType[*target.Error](err); ok && IsURL(string(bad.Hint())) {
		return string(bad.Hint())
	}
	return ""
}

// UnknownFlag returns the error for a flag that could not be read, with the flag that was perhaps meant.
func (f *Factory) UnknownFlag(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		hint := RunOf(cmd, " --help") + " shows the flags"
		if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
			for _, example := range missing.GetFlag().Annotations[ExampleAnnotation] {
				hint = "for example " + wire.Hint(example) + "; " + hint
			}
		}
		return usage.New(FlagText(err), hint)
	}
	words := cmd.Flags().Args()
	if len(words) > 0 && !cmd.HasParent() && (f.StartedAmong(cmd) == nil || f.isSynonym(cmd, words)) {
		return f.UnknownCommand(cmd, words) // the flags are those of another command
	}
	return usage.New(FlagText(err), f.meantByFlag(cmd, unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames() != ""))
}

// isSynonym reports whether words that may be the command of a server are a command of another program.
func (f *Factory) isSynonym(cmd *cobra.Command, words []string) bool {
	return !slices.Contains(runners, words[0]) && f.meaningOf(cmd).commandMeant(words, nil) != ""
}

// meantByFlag returns the hint for a flag that the command does not have; isShort is set for one with a single dash.
func (f *Factory) meantByFlag(cmd *cobra.Command, name string, isShort bool) wire.Hint {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	takesArguments := slices.Contains([]string{"call", "prompt", "bench"}, cmd.Name()) && !isShort
	if argv := f.StartedAmong(cmd); argv != nil {
		return "a server's command goes after --: " + f.CommandStarting(cmd.Name(), argv)
	}
	if at := slices.IndexFunc(f.Args, isErrorCode); at >= 0 && isShort && (!cmd.HasParent() || cmd.Name() == "help") {
		return "did you mean " + wire.Run("explain "+f.Args[at]) + "?"
	}
	var hint wire.Hint
	if isShort == (len(name) == 1) {
		hint = f.meaningOf(cmd).flagMeant(cmd, name)
	}
	switch near := suggest.Nearest(name, names); {
	case hint != "" && takesArguments && cmd.Flags().NArg() > 0 && !strings.Contains(string(hint), "arguments"):
		return hint + "; an argument has no dashes: " + wire.Hint(name) + "=VALUE"
	case hint != "":
		return hint
	case near != "" && !isShort:
		return wire.Hint("did you mean --" + near + "?")
	case !cmd.HasParent() && slices.Contains(CommandNames(cmd), name):
		return "did you mean " + wire.Run(name) + "?"
	case takesArguments:
		return "arguments have no dashes: " + wire.Hint(name) + "=VALUE; " + RunOf(cmd, " --help") + " shows the flags"
	}
	return RunOf(cmd, " --help") + " shows the flags"
}

// isErrorCode reports whether a word is the code of a JSON-RPC error.
func isErrorCode(word string) bool {
	digits, negative := strings.CutPrefix(word, "-")
	return negative && len(digits) == 5 && strings.Trim(digits, "0123456789") == ""
}

// Inert reports a word that every shell takes for a word once it is quoted, and
// that shows what it is. A server chooses its names: what is anything else is left
// out.
func Inert(word string) bool {
	for _, c := range word {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_-./:@%+,= ", c) {
			return false
		}
	}
	return word != "" && !strings.HasPrefix(word, "-") && strings.TrimSpace(word) == word && len(word) <= 200
}

// MethodNames are the methods of the protocol.
func MethodNames() (names []string) {
	entries, _ := glossary.Read()
	for _, e := range entries {
		if e.Group == "methods" {
			names = append(names, e.Words...)
		}
	}
	return names
}
