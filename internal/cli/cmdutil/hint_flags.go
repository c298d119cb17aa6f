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
// with -s or after "--". A command with a secret becomes "-- ...", a URL with one becomes a shell
// variable.
func (f *Factory) NameServer(argv []string) {
	aim := hint.Context{}
	switch {
	case len(argv) > 0:
		aim.ServerCommand = hint.Elsewhere
		if slices.Equal(redact.RedactCommand(argv), argv) {
			aim.ServerCommand = "-- " + connect.CommandLine(argv)
		}
	case f.ServerGiven && f.Server != "" && redact.RedactURL(f.Server) != f.Server:
		aim.ServerFlag = secretServer
	case f.ServerGiven && f.Server != "":
		aim.ServerFlag = "-s " + shellwords.Quote(f.Server)
	}
	aim.Flags = f.hintFlags
	f.OutStyle.Hints = aim
	f.ErrStyle.Hints = aim
	f.hideSecretsInHints()
}

// secretServer names a server whose URL has a secret. Without -s the hint's command would reach
// another server; with an unset variable it reaches none.
const secretServer = `-s "$SERVER"`

// hideSecretsInHints removes the secrets that are known now from the commands in hints.
func (f *Factory) hideSecretsInHints() {
	hasSecret := func(text string) bool { return f.Secrets.Text(text) != text }
	if f.hintFlags != nil && hasSecret(f.hintFlags.All+f.hintFlags.Server) {
		hidden := *f.hintFlags
		hidden.Server = ""
		if hasSecret(hidden.All) {
			hidden.All = ""
		}
		for _, flag := range f.typedFlags {
			word := typedWord(flag, &f.Secrets)
			hidden.Server = strings.TrimPrefix(hidden.Server+" "+word, " ")
		}
		f.hintFlags = &hidden
	}
	for _, aim := range []*hint.Context{&f.OutStyle.Hints, &f.ErrStyle.Hints} {
		if aim.Flags != nil {
			aim.Flags = f.hintFlags
		}
		if hasSecret(aim.ServerFlag) {
			aim.ServerFlag = secretServer
		}
		if hasSecret(aim.ServerCommand) {
			aim.ServerCommand = hint.Elsewhere
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

// RecordTypedFlags records which of carriedFlags were typed. It runs before flags are set from environment
// variables: the next command reads the variables itself.
func (f *Factory) RecordTypedFlags(flags *pflag.FlagSet) {
	carried := &hint.Flags{Commands: map[string]bool{}}
	if flag := flags.Lookup("state"); flag != nil && flag.Changed {
		carried.All = typedWord(typedFlags(flag)[0], &f.Secrets)
	}
	flag := flags.Lookup("account")
	f.AccountTyped = flag != nil && flag.Changed
	f.typedFlags = nil
	var words []string
	for _, name := range carriedFlags {
		if flag := flags.Lookup(name); flag != nil && flag.Changed {
			f.typedFlags = append(f.typedFlags, typedFlags(flag)...)
		}
	}
	for _, flag := range f.typedFlags {
		words = append(words, typedWord(flag, &f.Secrets))
	}
	carried.Server = strings.Join(words, " ")
	if carried.All+carried.Server == "" {
		return
	}
	for _, c := range f.Commands() {
		if c.Traits&(AsksServer|NeedsState) != 0 {
			carried.Commands[c.Name] = c.Traits&AsksServer != 0
		}
	}
	f.hintFlags = carried
}

// SetHintFlags sets the flags of hints for a command line that could not be parsed, from what was
// parsed.
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
func typedFlags(f *pflag.Flag) (all []typedFlag) {
	for _, value := range FlagValues(f) {
		all = append(all, typedFlag{f.Name, value, f.Value.Type() == "bool"})
	}
	return all
}

// typedWord returns the flag as words of a command line. A secret becomes a shell variable.
func typedWord(f typedFlag, s *redact.Secrets) string {
	word := " " + shellwords.Quote(f.value)
	isSecret := s.Text(f.value) != f.value
	switch {
	case f.isSwitch:
		word = ""
	case f.name == "header":
		name, text, _ := strings.Cut(f.value, ":")
		field := wire.Field{Name: name, Value: strings.TrimSpace(text)}
		if redact.RedactField(field) != field || isSecret {
			word = ` "` + name + ": $" + variableFor(name) + `"`
		}
	case redact.RedactURL(f.value) != f.value || isSecret:
		word = ` "$` + variableFor(f.name) + `"`
	}
	return "--" + f.name + word
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
