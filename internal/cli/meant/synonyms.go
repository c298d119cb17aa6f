package meant

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// commandHint returns the hint for words that are a command of a different program; "" if they are
// not. words is not empty. argv is the command of a server after --; nil if there is no --.
func (h hinter) commandHint(words, argv []string) wire.Hint {
	first := strings.TrimSpace(plainWord(h.path) + " " + plainWord(words[0]))
	keys := []string{first} // the most specific key first
	rest := words[1:]
	if len(rest) > 0 {
		keys = []string{first + " " + plainWord(rest[0]), first + " " + classOf(rest), first}
	} else if argv != nil {
		keys = []string{first + " --", first}
	}
	for _, key := range keys {
		s := findSynonym(key)
		if s == nil {
			continue
		}
		if len(rest) > 0 && key == first+" "+plainWord(rest[0]) { // the second word is of the synonym
			rest = rest[1:]
		}
		return h.synonymHint(s.Hint, rest, argv)
	}
	return ""
}

// Synonym returns the hint for words that are a command of a different program, or "" if they are
// not. command is the command of mcpc before them, or "".
func Synonym(f *cmdutil.Factory, command string, words ...string) wire.Hint {
	return hinter{f, command, f.ServerGiven}.commandHint(words, nil)
}

// findSynonym returns the synonym with these words, in the form of the tables, or nil.
func findSynonym(words string) *CommandSynonym {
	at := slices.IndexFunc(CommandSynonyms, func(s CommandSynonym) bool { return hasWord(s.Words, words) })
	if at < 0 {
		return nil
	}
	return &CommandSynonyms[at]
}

// hasWord reports whether word is in a list that is separated by commas and spaces.
func hasWord(list, word string) bool { return slices.Contains(strings.Split(list, ", "), word) }

// plainWord returns a word in the form of the tables, in lower case with hyphens: listTools,
// list_tools and list/tools become list-tools.
func plainWord(word string) string {
	var b strings.Builder
	var before rune
	for _, c := range word {
		if unicode.IsUpper(c) && unicode.IsLower(before) {
			b.WriteByte('-')
		}
		before = c
		if c == '_' || c == '/' {
			c = '-'
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// classOf returns the class of the first word: URL, URI, FILE, NAME, or -- for a server's command.
// words is not empty.
func classOf(words []string) string {
	word := words[0]
	if cmdutil.IsURL(word) {
		return "URL"
	}
	if strings.Contains(word, "://") {
		return "URI"
	}
	if strings.HasSuffix(word, ".yaml") {
		return "FILE"
	}
	if IsServerCommand(words) {
		return "--"
	}
	return "NAME"
}

// A hinter makes hints for a command line that mcpc does not know.
type hinter struct {
	f *cmdutil.Factory
	// path is the recognised command of mcpc; "" if the line has no known command.
	path string
	// namesServer is set if the command line names a server with -s.
	namesServer bool
}

// newHinter returns the hinter for a command line where cmd was recognised.
func newHinter(f *cmdutil.Factory, cmd *cobra.Command) hinter {
	return hinter{
		f, strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "mcpc"), " "),
		f.ServerGiven || cmd.Flags().Changed("server"),
	}
}

// synonymHint returns the hint of a synonym, text, with its placeholders filled. rest are the words
// after the command; argv is the command of a server after --, or nil.
func (h hinter) synonymHint(text string, rest, argv []string) wire.Hint {
	words := quoteSafely(rest)
	typed := words
	if argv != nil {
		typed = strings.TrimSpace(words + " -- " + quoteSafely(argv))
	} else if len(rest) > 0 && IsServerCommand(rest) {
		argv = commandFrom(rest)
		typed = "-- " + quoteSafely(argv)
	}
	// h is a copy. A hint that already names a server gets no -s.
	h.namesServer = h.namesServer && argv == nil && !slices.ContainsFunc(rest, cmdutil.IsURL)
	return h.hint(text, func(name string) string {
		if name == "WORD" { // a word for a search, not a server's command
			if words != "" {
				return words
			}
			return name
		}
		if name != "@" {
			if typed != "" {
				return typed
			}
			return name
		}
		if len(rest) > 0 && argv == nil && classOf(rest) == "NAME" {
			return "-s " + typed
		}
		return typed
	})
}

// quoteSafely returns words, quoted for a command line. It replaces all words after the first with
// ... if any word may be a secret, and all words if the first may be.
func quoteSafely(words []string) string {
	shown := redact.RedactCommand(words)
	if slices.Equal(shown, words) {
		return strings.Join(connect.QuotedWords(words), " ")
	}
	if shown[0] == words[0] {
		return shellwords.Quote(words[0]) + " ..."
	}
	return "..."
}

// hint returns the hint for the text of a synonym. fill returns the replacement for a name in
// braces. A command that asks a server gets the -s of the command line, if the command line has
// one.
func (h hinter) hint(text string, fill func(string) string) wire.Hint {
	braces := regexp.MustCompile(`\{[^{}"]*\}`)
	var hint wire.Hint
	for i, part := range strings.Split(text, "`") { // each second part is a command line
		part = braces.ReplaceAllStringFunc(part, func(name string) string { return fill(name[1 : len(name)-1]) })
		if i%2 == 0 {
			hint += wire.Hint(part)
			continue
		}
		line := strings.TrimSpace(part)
		name, _, _ := strings.Cut(line, " ")
		if h.namesServer && h.f.CommandHasTrait(name, cmdutil.AsksServer|cmdutil.OnlyTakesServer) {
			hint += wire.RunOnServer(line)
		} else {
			hint += wire.Run(line)
		}
	}
	return hint
}

// flagSynonymHint returns the hint for a flag of a different program, and FlagSynonym.Use of the
// hint; "" if the flag is unknown. It skips hints at a flag which cmd does not have.
func (h hinter) flagSynonymHint(cmd *cobra.Command, flag string) (hint wire.Hint, use string) {
	value := typedValue(h.f.Args, flag)
	command := h.path
	if command == "" {
		command = "mcpc"
	}
	command = strings.ReplaceAll(command, " ", "-") // a subcommand
	for _, s := range FlagSynonyms {
		commands := strings.Fields(s.Commands)
		isForWordless := cmd.Flags().NArg() == 0 && slices.Contains(commands, command+"/")
		isForCommand := len(commands) == 0 || slices.Contains(commands, command) || isForWordless
		if !hasWord(s.Flags, flag) || !isForCommand {
			continue
		}
		if name, isFlag := strings.CutPrefix(s.Use, "--"); isFlag && cmd.Flags().Lookup(name) == nil {
			continue
		}
		hint = h.hint(s.Hint, func(name string) string {
			switch name {
			case "command":
				if h.path != "" {
					return h.path
				}
				return "list"
			case "flag":
				return flag
			}
			if value != "" {
				return value
			}
			return name
		})
		return hint, s.Use
	}
	return "", ""
}

// typedValue returns the value of an unknown flag in args; "" if the flag has no value, or a value
// that a hint cannot repeat without quoting.
func typedValue(args []string, flag string) string {
	dashes := "--"
	if len(flag) == 1 {
		dashes = "-"
	}
	for i, word := range args {
		if word == "--" {
			return ""
		}
		value, found := strings.CutPrefix(word, dashes+flag)
		isLonger := len(flag) > 1 && value != "" && value[0] != '=' // another flag with the same beginning
		if !found || isLonger {
			continue
		}
		if value == "" && i+1 < len(args) {
			value = args[i+1]
		}
		value = strings.TrimPrefix(value, "=")
		words := []string{value}
		if !shellwords.Inert(value) || shellwords.Quote(value) != value || !slices.Equal(redact.RedactCommand(words), words) {
			return ""
		}
		return value
	}
	return ""
}
