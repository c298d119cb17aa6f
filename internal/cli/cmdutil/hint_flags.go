package cmdutil

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"mcpc/internal/connect"
	"mcpc/internal/redact"
	"mcpc/internal/render/hint"
	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// NameServer sets how commands in hints and examples name the server: as this command line did,
// with -s or with argv, the words after "--". A command with a secret becomes "-- ...", a URL with
// a secret becomes a shell variable.
func (f *Factory) NameServer(argv []string) {
	hints := hint.Context{Flags: f.hintFlags}
	if len(argv) > 0 {
		hints.ServerCommand = hint.Elsewhere
		if slices.Equal(redact.ShownCommand(argv), argv) {
			hints.ServerCommand = "-- " + connect.CommandLine(argv)
		}
	} else if f.ServerGiven && f.Server != "" {
		hints.ServerFlag = "-s " + shellwords.Quote(f.Server)
		if redact.RedactURL(f.Server) != f.Server {
			hints.ServerFlag = secretServer
		}
	}
	f.OutStyle.Hints = hints
	f.ErrStyle.Hints = hints
	f.hideSecretsInHints()
}

// secretServer names a server whose URL has a secret. Without -s the hint's command would reach
// another server; with an unset variable it reaches no server.
const secretServer = `-s "$SERVER"`

// hideSecretsInHints removes the secrets that are known now from the commands in hints.
func (f *Factory) hideSecretsInHints() {
	hasSecret := func(text string) bool { return f.Secrets.Text(text) != text }
	if f.hintFlags != nil && hasSecret(f.hintFlags.All+f.hintFlags.Server) {
		hidden := *f.hintFlags
		if hasSecret(hidden.All) { // the path of --state
			hidden.All = ""
		}
		hidden.Server = f.typedWords()
		f.hintFlags = &hidden
	}
	// The two styles have copies of the flags and of the server's name.
	for _, hints := range []*hint.Context{&f.OutStyle.Hints, &f.ErrStyle.Hints} {
		if hints.Flags != nil {
			hints.Flags = f.hintFlags
		}
		if hasSecret(hints.ServerFlag) {
			hints.ServerFlag = secretServer
		}
		if hasSecret(hints.ServerCommand) {
			hints.ServerCommand = hint.Elsewhere
		}
	}
}

// carriedFlags are the flags of all commands that the command in a hint repeats: without them it
// could reach another server or account. --state is repeated with every command.
var carriedFlags = []string{
	"protocol",
	"header",
	"header-file",
	"account",
	"cacert",
	"cert",
	"key",
	"insecure",
	"proxy",
	"resolve",
	"unix-socket",
}

// RecordTypedFlags records which of carriedFlags were typed. It runs before flags are set from
// environment variables: the next command reads the variables itself.
func (f *Factory) RecordTypedFlags(flags *pflag.FlagSet) {
	recorded := &hint.Flags{Commands: map[string]bool{}}
	if flag := flags.Lookup("state"); flag != nil && flag.Changed {
		recorded.All = typedWord(typedFlags(flag)[0], &f.Secrets)
	}
	flag := flags.Lookup("account")
	f.AccountTyped = flag != nil && flag.Changed
	f.typedFlags = nil
	for _, name := range carriedFlags {
		if flag := flags.Lookup(name); flag != nil && flag.Changed {
			f.typedFlags = append(f.typedFlags, typedFlags(flag)...)
		}
	}
	recorded.Server = f.typedWords()
	if recorded.All == "" && recorded.Server == "" {
		return
	}
	// The other commands have none of these flags.
	for _, c := range f.Commands() {
		if c.Traits&(AsksServer|NeedsState) != 0 {
			recorded.Commands[c.Name] = c.Traits&AsksServer != 0
		}
	}
	f.hintFlags = recorded
}

// typedWords returns f.typedFlags as words of a command line, without the secrets that are known
// now.
func (f *Factory) typedWords() string {
	var words []string
	for _, flag := range f.typedFlags {
		words = append(words, typedWord(flag, &f.Secrets))
	}
	return strings.Join(words, " ")
}

// SetHintFlags sets the flags of hints for a command line that could not be parsed to its end, from
// the flags before the error. It does nothing if the flags are set already.
func (f *Factory) SetHintFlags(flags *pflag.FlagSet) {
	if !f.Prepared {
		f.LearnEnvironment()
		f.RecordTypedFlags(flags)
		f.ServerGiven = f.ServerGiven || flags.Changed("server")
		f.NameServer(nil)
	}
}

// A typedFlag is one occurrence of a flag on the command line.
type typedFlag struct {
	name, value string
	isSwitch    bool
}

// typedFlags returns one typedFlag for each value of f.
func typedFlags(f *pflag.Flag) []typedFlag {
	var occurrences []typedFlag
	for _, value := range FlagValues(f) {
		occurrences = append(occurrences, typedFlag{f.Name, value, f.Value.Type() == "bool"})
	}
	return occurrences
}

// typedWord returns the flag as words of a command line. A secret becomes a shell variable.
func typedWord(f typedFlag, s *redact.Secrets) string {
	if f.isSwitch {
		return "--" + f.name
	}
	value := shellwords.Quote(f.value)
	isSecret := s.Text(f.value) != f.value
	if f.name == "header" {
		name, text, _ := strings.Cut(f.value, ":")
		field := wire.Field{Name: name, Value: strings.TrimSpace(text)}
		if redact.RedactField(field) != field || isSecret {
			value = `"` + name + ": $" + variableFor(name) + `"`
		}
	} else if redact.RedactURL(f.value) != f.value || isSecret {
		value = `"$` + variableFor(f.name) + `"`
	}
	return "--" + f.name + " " + value
}

// FlagValues returns the values of a flag.
func FlagValues(f *pflag.Flag) []string {
	if many, ok := f.Value.(pflag.SliceValue); ok {
		return many.GetSlice()
	}
	return []string{f.Value.String()}
}

// variableFor returns a name for the shell variable with the secret of a flag or header field.
func variableFor(name string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' {
			return c - 'a' + 'A'
		}
		if 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			return c
		}
		return '_'
	}, name)
}
