package meant

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// runners are programs that start the server named by their arguments.
var runners = []string{
	"npx",
	"bunx",
	"pnpx",
	"npm",
	"uvx",
	"uv",
	"pipx",
	"node",
	"bun",
	"deno",
	"tsx",
	"python",
	"python3",
	"docker",
	"podman",
	"java",
	"dotnet",
	"ruby",
	"php",
	"cargo",
	"go",
	"sh",
	"bash",
	"env",
	"cmd",
	"powershell",
	"pwsh",
}

// interpreters has, by file extension, the command that runs such a file.
var interpreters = map[string][]string{
	".js":  {"node"},
	".mjs": {"node"},
	".cjs": {"node"},
	".ts":  {"npx", "tsx"},
	".py":  {"python3"},
	".rb":  {"ruby"},
	".php": {"php"},
	".jar": {"java", "-jar"},
	".sh":  {"sh"},
}

// commandFrom returns the command that words may be, if they begin with a program, a file or an npm
// package. It adds the program that runs the file or the package. Otherwise it returns nil.
func commandFrom(words []string) []string {
	first := words[0]
	run := interpreters[strings.ToLower(filepath.Ext(first))]
	switch {
	case slices.Contains(runners, first):
		return words
	case cmdutil.IsFile(first) && run != nil:
		return slices.Concat(run, words)
	case cmdutil.IsFile(first) && filepath.Base(first) == first && isProgram("."+string(filepath.Separator)+first):
		// A program of the current directory runs only with its path.
		return slices.Concat([]string{"." + string(filepath.Separator) + first}, words[1:])
	case isProgram(first):
		return words
	case isPackage(first):
		return slices.Concat([]string{"npx", "-y"}, words)
	}
	return nil
}

// isPackage reports whether a word is the name of a scoped npm package, as @SCOPE/NAME.
func isPackage(word string) bool {
	scope, name, found := strings.Cut(word, "/")
	return found && strings.HasPrefix(scope, "@") && len(scope) > 1 && name != "" && !strings.Contains(name, "/") &&
		shellwords.Inert(word)
}

// isProgram reports whether a word is an executable file or a program on the path.
func isProgram(word string) bool {
	_, err := exec.LookPath(word)
	return err == nil
}

// ServerCommand returns the command of a server that words are: a program of runners with
// arguments, or a file with the program that runs it. Otherwise it returns nil.
func ServerCommand(words []string) []string {
	if len(words) == 0 || len(words) == 1 && !cmdutil.IsFile(words[0]) {
		return nil
	}
	if argv := commandFrom(words); argv != nil && (slices.Contains(runners, argv[0]) || cmdutil.IsFile(words[0])) {
		return argv
	}
	return nil
}

// FindServerCommand returns the command of a server in a command line with an unknown flag, because
// the flag may belong to that command. Returns nil if there is no such command, or if the first
// word may be the name of a tool.
func FindServerCommand(f *cmdutil.Factory, cmd *cobra.Command) []string {
	first := cmd.Flags().Arg(0)
	at := slices.Index(f.Args, first) // f.Args also has the flags of the server's command
	takesNoServer := cmd.HasParent() &&
		!f.CommandHasTrait(cmd.Name(), cmdutil.OnlyTakesServer|cmdutil.OnlyStartsServer)
	if first == "" || at < 0 || takesNoServer {
		return nil
	}
	return commandFrom(f.Args[at:])
}

// StartHint returns the command line of mcpc that starts the server with the command argv. It
// uses the last word of argv as the command of mcpc if it is one, else verb, else list. It replaces
// the arguments with ... if they may contain a secret.
func StartHint(f *cmdutil.Factory, verb string, argv []string) wire.Hint {
	// As in "mcpc npx SERVER info".
	if last := argv[len(argv)-1]; len(argv) > 1 && f.CommandHasTrait(last, cmdutil.OnlyTakesServer) {
		verb = last
		argv = argv[:len(argv)-1]
	}
	if !f.CommandHasTrait(verb, cmdutil.OnlyTakesServer|cmdutil.OnlyStartsServer) {
		verb = "list"
	}
	line := verb + " -- " + shellwords.Quote(argv[0])
	if !slices.Equal(redact.RedactCommand(argv), argv) {
		line += " ..."
	} else if len(argv) > 1 {
		line += " " + strings.Join(connect.QuotedWords(argv[1:]), " ")
	}
	return wire.Run(line)
}

// DescribePath returns what text, the value of -s, is if it is not a server: "a folder", "a file",
// "a command" or "a path that does not exist", and the hint for it. Both are "" if text is a URL or
// unknown. what is "" if text is the name of a program, because a server may have that name.
func DescribePath(f *cmdutil.Factory, text string) (what string, hint wire.Hint) {
	if text == "" || strings.Contains(text, "://") {
		return "", ""
	}
	afterDashes := func(command string) wire.Hint {
		return "a server's command goes after --: " + wire.Run("list -- "+command)
	}
	info, err := os.Stat(text)
	words := strings.Fields(text)
	if err == nil && info.IsDir() {
		return "a folder", afterDashes("COMMAND")
	}
	if err == nil {
		hint := fileHint(text)
		if hint == "" {
			hint = ServerCommandHint(f, "list", []string{text})
		}
		return "a file", hint
	}
	if len(words) > 0 && commandFrom(words) != nil {
		program := shellwords.Quote(commandFrom(words)[0])
		if len(words) > 1 {
			return "a command", afterDashes(program + " ...") // the other words may contain a secret
		}
		hint = afterDashes(program)
	} else if strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "~") {
		return "a path that does not exist", afterDashes("COMMAND")
	}
	return "", hint
}

// CheckMisplaced returns a usage error if the first word after the command verb, which takes a name,
// seems to be the server, or if the arguments of a tool or prompt follow --. It returns nil
// otherwise. words are the words before --; argv those after it, nil without --.
func CheckMisplaced(f *cmdutil.Factory, verb string, words, argv []string) error {
	const where = " takes a name; name the server with -s"
	takesWords := verb == "call" || verb == "prompt"
	isNoAssignment := func(word string) bool { at, _ := arguments.Operator(word); return at < 1 }
	if takesWords && len(argv) > 0 && !slices.ContainsFunc(argv, isNoAssignment) {
		f.NameServer(nil) // the words after -- are not a server's command
		return usage.New(
			"a server's command goes after --, and these are arguments",
			"did you mean "+wire.RunOnServer(
				strings.Join(connect.QuotedWords(slices.Concat([]string{verb}, words, argv)), " "),
			)+"?",
		)
	}
	if len(words) == 0 || f.ServerGiven || argv != nil || f.Shell != nil {
		return nil
	}
	if len(words) == 1 && takesWords && cmdutil.IsURL(words[0]) {
		return usage.New(verb+where, wire.Run("list "+shellwords.Quote(words[0]))+" shows the tools")
	}
	if len(words) == 1 || !arguments.IsUnnamed(words[1]) { // the first word is the name
		return nil
	}
	// npx, uvx and the like run a package, the other programs a file.
	startsProgram := slices.Contains(runners, words[0]) && (cmdutil.IsFile(words[1]) || strings.HasSuffix(words[0], "x"))
	if startsProgram || cmdutil.IsFile(words[0]) {
		return usage.New(
			verb+" takes a name; a server's command goes after --",
			wire.Run(verb+" NAME -- "+shellwords.Quote(words[0])+" ..."),
		)
	}
	if words[0] == connect.DemoEndpoint || cmdutil.IsURL(words[0]) {
		return usage.New(
			verb+where,
			"did you mean "+wire.Run(
				"-s "+shellwords.Quote(words[0])+" "+verb+" "+strings.Join(connect.QuotedWords(words[1:]), " "),
			)+"?",
		)
	}
	return nil
}

// flagsOfMCPC are flags of mcpc that users write after a server's command by mistake, and that few
// servers have.
var flagsOfMCPC = []string{"json", "jq", "wire", "explain", "no-validate", "curl", "dry-run", "max-time", "fuzz"}

// NoteFlagsAfterDashes prints a note if a flag of mcpc is among the arguments of a server's
// command, where mcpc does not read it.
func NoteFlagsAfterDashes(f *cmdutil.Factory, cmd *cobra.Command, argv []string) {
	if len(argv) == 0 || !f.CommandHasTrait(cmd.Name(), cmdutil.AsksServer) {
		return
	}
	if filepath.Base(argv[0]) == "mcpc" { // its own flags may be meant
		return
	}
	for _, word := range argv[1:] {
		flag, isLong := strings.CutPrefix(word, "--")
		name, _, _ := strings.Cut(flag, "=")
		isFlagOfCommand := cmd.Flags().Lookup(name) != nil // not every command has all of flagsOfMCPC
		if isLong && slices.Contains(flagsOfMCPC, name) && isFlagOfCommand {
			f.Note("--" + name + " after -- is an argument of the server's command; a flag of mcpc goes before --")
			return
		}
	}
}

// ServerCommandHint returns the hint for words that the command verb does not take: how to name the
// server that they may mean. It is never "". words is not empty.
func ServerCommandHint(f *cmdutil.Factory, verb string, words []string) wire.Hint {
	if hint := dashHint(words); hint != "" {
		return hint
	}
	if url := urlOfHost(words[0]); url != "" && !cmdutil.IsFile(words[0]) {
		return "did you mean " + wire.Run(verb+" "+url) + "?"
	}
	if argv := commandFrom(words); argv != nil {
		return "a server's command goes after --: " + StartHint(f, verb, argv)
	}
	return "a server's command goes after --, a URL or a session after -s"
}

// urlOfHost returns the URL for a word that is a host without a scheme, or "" if it is something
// else.
func urlOfHost(word string) string {
	host, _, _ := strings.Cut(word, "/")
	name, port, hasPort := strings.Cut(host, ":")
	isPort := hasPort && port != "" && strings.Trim(port, "0123456789") == ""
	at := strings.LastIndexByte(name, '.')
	hasKnownDomain := at > 0 &&
		slices.Contains([]string{"com", "org", "net", "io", "dev", "ai", "app", "cloud", "local"}, name[at+1:])
	isHost := isPort || name == "localhost" || hasKnownDomain
	if !isHost || interpreters[strings.ToLower(filepath.Ext(word))] != nil { // a file such as node.io/x.js
		return ""
	}
	// The error of a target without a scheme has the URL as its hint.
	_, err := target.Parse(target.Input{Flag: word, FlagGiven: true})
	if bad, ok := errors.AsType[*target.Error](err); ok && cmdutil.IsURL(string(bad.Hint())) {
		return string(bad.Hint())
	}
	return ""
}

// IsServerCommand reports whether words are the command of a server: they begin with a program of
// runners, a file that can be run, or a scoped npm package.
func IsServerCommand(words []string) bool {
	return len(words) > 1 && slices.Contains(runners, words[0]) ||
		(cmdutil.IsFile(words[0]) || isPackage(words[0])) && commandFrom(words) != nil
}
