package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// What a person perhaps meant by words that stand in the wrong place or are written as
// another program wants them. It is said, and never done.

// unnamed gives an error of arguments without names a hint that has them, unless that
// would be as wrong. before are the words of the command, "call NAME", and args what
// follows.
func (a *app) unnamed(cmd *cobra.Command, k kind, before, args []string, err error) error {
	reads := func(arg string) bool { return arg == "-" || strings.Contains(arg, "@") }
	if !slices.ContainsFunc(args, isUnnamed) || slices.ContainsFunc(args, reads) {
		return err
	}
	names, shows := a.argumentNames(cmd, k, before[1]), "list "+k.many
	if len(names) > 0 {
		shows = "describe " + k.one + " " + shellwords.Quote(before[1])
	}
	words, guessed, left := namedWords(args, names)
	if _, again := a.given(words, "", k != toolKind); again != nil {
		return err
	}
	command := strings.Join(quotedWords(slices.Concat(before, words, left)), " ")
	switch {
	case len(left) > 0:
		return hintedAnew(err, "arguments need names: "+wire.There(command)+"; "+wire.There(shows)+" shows the names")
	case guessed:
		return hintedAnew(err, "arguments need names: "+wire.There(command))
	}
	return hintedAnew(err, "did you mean "+wire.There(command)+"?")
}

// hintedAnew is a usage error with another hint.
func hintedAnew(err error, hint wire.Hint) error {
	several := &severalError{}
	if errors.As(err, &several) {
		several.hint = hint
		return several
	}
	return hinted(err.Error(), hint)
}

// namedWords gives words a name that have none: a:1 is a=1, three words a = 1 are one,
// and others have the names of the tool in turn, which is guessed. left are those for
// which it has none.
func namedWords(args, names []string) (words []string, guessed bool, left []string) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if isUnnamed(word) && i+1 < len(args) && strings.HasPrefix(args[i+1], "=") {
			i++
			word += args[i]
		}
		if _, value := operator(word); value == len(word) && i+1 < len(args) && isUnnamed(args[i+1]) {
			i++
			word += args[i]
		}
		name, value, colon := strings.Cut(word, ":")
		aName := len(names) == 0 && inert(name) && !strings.ContainsAny(name, " /@%+,") && !strings.HasPrefix(value, "//")
		if colon && isUnnamed(word) && (aName || slices.Contains(names, name)) {
			word = name + "=" + value
		}
		if i+1 < len(args) && isUnnamed(word) && isUnnamed(args[i+1]) {
			switch {
			case slices.Contains(names, word):
				i++
				word += "=" + args[i]
			case len(names) == 0 && isName(word): // perhaps a name and its value
				i++
				left = append(left, "NAME=VALUE")
				continue
			}
		}
		words = append(words, word)
	}
	given := func(name string) bool {
		object, _ := wire.Object(json.RawMessage(strings.Join(words[:min(1, len(words))], "")))
		_, there := object.Get(name)
		return there || slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, name+"=") })
	}
	names = slices.DeleteFunc(slices.Clone(names), given)
	named := words[:0]
	for _, word := range words {
		switch {
		case !isUnnamed(word):
			named = append(named, word)
		case len(names) == 0:
			left = append(left, "NAME="+word)
		default:
			named, names, guessed = append(named, names[0]+"="+word), names[1:], true
		}
	}
	return named, guessed, left
}

// isName reports a word as an argument may be called: letters first, and no more signs
// than - and _.
func isName(word string) bool {
	return inert(word) && !isScalar(word) && !strings.ContainsAny(word, " ./:@%+,=") && !strings.Contains("0123456789", word[:1])
}

func quotedWords(words []string) []string { return mapped(words, shellwords.Quote) }

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
	case isFile(first) && run != nil:
		return slices.Concat(run, words)
	case isFile(first) && filepath.Base(first) == first && isProgram("."+string(filepath.Separator)+first):
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

// startedAmong is the command of a server among the words of a command line with a flag
// that is not known, which may be the server's: nil where the command's first word may be
// the name of a tool that is called as a program is.
func (a *app) startedAmong(cmd *cobra.Command) []string {
	first := cmd.Flags().Arg(0)
	at := slices.Index(a.args, first)
	if first == "" || at < 0 || cmd.HasParent() && !a.commandIs(cmd.Name(), alone) {
		return nil
	}
	return startedBy(a.args[at:])
}

// commandStarting is the command line of mcpc that speaks with a server's command. Where
// the command's last word is one of mcpc's commands, that is the one. Words that are
// secret are left out.
func (a *app) commandStarting(verb string, argv []string) wire.Hint {
	if last := argv[len(argv)-1]; len(argv) > 1 && a.commandIs(last, alone) {
		verb, argv = last, argv[:len(argv)-1]
	}
	if !a.commandIs(verb, alone) {
		verb = "list"
	}
	line := verb + " -- " + shellwords.Quote(argv[0])
	switch {
	case !slices.Equal(wire.RedactCommand(argv), argv):
		line += " ..."
	case len(argv) > 1:
		line += " " + strings.Join(quotedWords(argv[1:]), " ")
	}
	return wire.Run(line)
}

// meantByFile is the command for a file that is there and is no server; "" where that is
// not known of it.
func meantByFile(name string) wire.Hint {
	switch {
	case !isFile(name):
		return ""
	case strings.HasSuffix(name, ".mcpc.yaml"):
		return "did you mean " + wire.Run("run "+shellwords.Quote(name)) + "?"
	case strings.HasSuffix(name, ".jsonl"):
		return "did you mean " + wire.Run("log --file "+shellwords.Quote(name)) + "?"
	case strings.HasSuffix(name, ".json"), strings.HasSuffix(name, ".toml"):
		return wire.Run("servers") + " lists configured servers, and -s NAME selects one"
	}
	return ""
}

// meantByPath is what -s names where that is no server but something on this machine,
// and the hint for it; what is "" where it is the name of a program, as a server's may be.
func (a *app) meantByPath(text string) (what string, hint wire.Hint) {
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
		return "a file", cmp.Or(meantByFile(text), a.behindDashes("list", []string{text}))
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

// misplaced is the error of a command that takes a name, where its first word names the
// server, as far as the words tell, or its arguments stand behind --: no tool is called
// as a URL, and behind a name stands no word without one.
func (a *app) misplaced(verb string, words, argv []string) error {
	const where = " takes a name; name the server with -s"
	takesWords := verb == "call" || verb == "prompt"
	isOther := func(word string) bool { at, _ := operator(word); return at < 1 }
	if takesWords && len(argv) > 0 && !slices.ContainsFunc(argv, isOther) {
		a.nameServer(nil) // what stands behind -- is no server's
		return hinted("a server's command goes after --, and these are arguments",
			"did you mean "+wire.There(strings.Join(quotedWords(slices.Concat([]string{verb}, words, argv)), " "))+"?")
	}
	switch {
	case len(words) == 0 || a.serverGiven || argv != nil || a.shell != nil:
		return nil
	case len(words) == 1 && takesWords && isURL(words[0]):
		return hinted(verb+where, wire.Run("list "+shellwords.Quote(words[0]))+" shows the tools")
	case len(words) == 1 || !isUnnamed(words[1]):
		return nil
	case slices.Contains(runners, words[0]) && (isFile(words[1]) || strings.HasSuffix(words[0], "x")), isFile(words[0]):
		return hinted(verb+" takes a name; a server's command goes after --", wire.Run(verb+" NAME -- "+shellwords.Quote(words[0])+" ..."))
	case words[0] == demoEndpoint || isURL(words[0]):
		return hinted(verb+where,
			"did you mean "+wire.Run("-s "+shellwords.Quote(words[0])+" "+verb+" "+strings.Join(quotedWords(words[1:]), " "))+"?")
	}
	return nil
}

// behindDashes is the hint for words that a command has no use for.
func (a *app) behindDashes(verb string, words []string) wire.Hint {
	if argv := startedBy(words); argv != nil {
		return "a server's command goes after --: " + a.commandStarting(verb, argv)
	}
	return "a server's command goes after --, a URL after -s"
}
