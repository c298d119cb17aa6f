package cmdutil

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/outfile"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/glossary"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/suggest"
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
	case outfile.IsFile(first) && run != nil:
		return slices.Concat(run, words)
	case outfile.IsFile(first) && filepath.Base(first) == first && isProgram("."+string(filepath.Separator)+first):
		return slices.Concat([]string{"." + string(filepath.Separator) + first}, words[1:])
	case isProgram(first):
		return words
	}
	return nil
}

func isProgram(word string) bool {
	_, err := exec.LookPath(word)
	return err == nil
}

// StartedAmong is the command of a server among the words of a command line with a flag
// that is not known, which may be the server's: nil where the command's first word may be
// the name of a tool that is called as a program is.
func StartedAmong(f *Factory, cmd *cobra.Command) []string {
	first := cmd.Flags().Arg(0)
	at := slices.Index(f.Args, first)
	if first == "" || at < 0 || cmd.HasParent() && !CommandIs(f, cmd.Name(), Alone) {
		return nil
	}
	return startedBy(f.Args[at:])
}

// CommandStarting is the command line of mcpc that speaks with a server's command. Where
// the command's last word is one of mcpc's commands, that is the one. Words that are
// secret are left out.
func CommandStarting(f *Factory, verb string, argv []string) wire.Hint {
	if last := argv[len(argv)-1]; len(argv) > 1 && CommandIs(f, last, Alone) {
		verb, argv = last, argv[:len(argv)-1]
	}
	if !CommandIs(f, verb, Alone) {
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
	case !outfile.IsFile(name):
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
		return "a file", cmp.Or(meantByFile(text), BehindDashes(f, "list", []string{text}))
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
func Misplaced(f *Factory, verb string, words, argv []string) error {
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
	case slices.Contains(runners, words[0]) && (outfile.IsFile(words[1]) || strings.HasSuffix(words[0], "x")), outfile.IsFile(words[0]):
		return usage.New(verb+" takes a name; a server's command goes after --", wire.Run(verb+" NAME -- "+shellwords.Quote(words[0])+" ..."))
	case words[0] == connect.DemoEndpoint || IsURL(words[0]):
		return usage.New(verb+where,
			"did you mean "+wire.Run("-s "+shellwords.Quote(words[0])+" "+verb+" "+strings.Join(connect.QuotedWords(words[1:]), " "))+"?")
	}
	return nil
}

// BehindDashes is the hint for words that a command has no use for.
func BehindDashes(f *Factory, verb string, words []string) wire.Hint {
	if argv := startedBy(words); argv != nil {
		return "a server's command goes after --: " + CommandStarting(f, verb, argv)
	}
	return "a server's command goes after --, a URL or a session after -s"
}

// UnknownCommand is what stands where a command was expected.
func UnknownCommand(f *Factory, cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := RunOf(cmd, " --help") + " shows the commands"
	argv := startedBy(args)
	if !cmd.HasParent() && IsURL(args[0]) {
		url := shellwords.Quote(args[0])
		hint = wire.Run("init "+url) + " opens a session, " + wire.Run("list "+url) + " shows its tools"
		if len(args) > 1 && slices.Contains(CommandNames(cmd), args[1]) {
			hint = "did you mean " + wire.Run(strings.Join(connect.QuotedWords(args[1:]), " ")+" -s "+url) + "?"
		}
		return usage.New("a URL is not a command", hint)
	}
	if meant := meantByFile(args[0]); !cmd.HasParent() && meant != "" {
		hint = meant
	} else if !cmd.HasParent() && argv != nil && (slices.Contains(runners, args[0]) || outfile.IsFile(args[0])) {
		hint = "did you mean " + CommandStarting(f, "list", argv) + "?"
	} else if near := suggest.Nearest(args[0], CommandNames(cmd)); near != "" {
		hint = "did you mean " + RunOf(cmd, " "+near) + "?"
	} else if other := otherWords[args[0]]; other != "" && !cmd.HasParent() {
		hint = "did you mean " + wire.Run(other) + "?"
	} else if len(args) > 1 && !cmd.HasParent() {
		if at, _ := arguments.Operator(args[1]); at > 0 || strings.HasPrefix(args[1], "{") {
			hint = "did you mean " + wire.Run("call "+shellwords.Quote(args[0])) + "?"
		} else if argv != nil {
			hint = "did you mean " + CommandStarting(f, "list", argv) + "?"
		}
	}
	return usage.New(fmt.Sprintf("unknown command %q", args[0]), hint)
}

// otherWords are what users of other clients type.
var otherWords = map[string]string{
	"ls": "list", "tools": "list", "tools/list": "list", "prompts": "list prompts", "prompts/list": "list prompts",
	"resources": "list resources", "resources/list": "list resources", "get": "prompt", "connect": "init", "open": "init",
	"tools/call": "call", "exec": "call", "search": "grep", "find": "grep", "inspect": "describe", "test": "run", "logs": "log",
	"history": "log", "whoami": "auth", "use": "sessions use", "watch": "listen", "config": "servers", "install": "tap install",
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
