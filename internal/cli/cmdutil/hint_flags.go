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

// NameServer settles how the commands in hints and examples name the server: as
// this command line did, with -s or behind --, and not at all where that would
// give a secret away. What redaction leaves could not be pasted.
func (f *Factory) NameServer(argv []string) {
	aim := hint.Context{}
	switch {
	case len(argv) > 0:
		if slices.Equal(redact.RedactCommand(argv), argv) {
			aim.ServerCommand = "-- " + connect.CommandLine(argv)
		}
	case f.ServerGiven && f.Server != "" && redact.RedactURL(f.Server) == f.Server:
		aim.ServerFlag = "-s " + shellwords.Quote(f.Server)
	}
	if line := aim.Command(""); f.Secrets.Text(line) != line {
		aim = hint.Context{}
	}
	aim.Flags = f.typed
	f.OutStyle.Hints, f.ErrStyle.Hints = aim, aim
}

// carriedFlags are flags of all commands that the command of a hint repeats, else it could
// reach another server or use another account. --state belongs to every command.
var carriedFlags = []string{"protocol", "header", "header-file", "account", "cacert", "cert", "key", "insecure", "proxy", "resolve", "unix-socket"}

// NoteTyped remembers which of these were typed, before variables fill in others. A
// variable is still set for the next command.
func NoteTyped(f *Factory, flags *pflag.FlagSet) {
	t := &hint.Flags{Commands: map[string]bool{}}
	if f := flags.Lookup("state"); f != nil && f.Changed {
		t.All = typedFlag(f)[0]
	}
	flag := flags.Lookup("account")
	f.AccountTyped = flag != nil && flag.Changed
	var there []string
	for _, name := range carriedFlags {
		if f := flags.Lookup(name); f != nil && f.Changed {
			there = append(there, typedFlag(f)...)
		}
	}
	if t.Server = strings.Join(there, " "); t.All+t.Server == "" {
		return
	}
	for _, c := range Commands(f) {
		if c.Is&(Asks|Local) != 0 {
			t.Commands[c.Name] = c.Is&Asks != 0
		}
	}
	f.typed = t
}

// SetHintFlags lets the hint of a command line that could not be read carry what was read.
func SetHintFlags(f *Factory, flags *pflag.FlagSet) {
	if !f.Prepared {
		NoteTyped(f, flags)
		f.ErrStyle.Hints.Flags = f.typed
	}
}

// typedFlag is a flag as it was typed. A secret is named and not said: the shell puts it
// there from a variable.
func typedFlag(f *pflag.Flag) (words []string) {
	for _, value := range FlagValues(f) {
		word := " " + shellwords.Quote(value)
		switch {
		case f.Value.Type() == "bool":
			word = ""
		case f.Name == "header":
			name, text, _ := strings.Cut(value, ":")
			field := wire.Field{Name: name, Value: strings.TrimSpace(text)}
			if redact.RedactField(field) != field || new(redact.Secrets).Text(value) != value {
				word = ` "` + name + ": $" + variableFor(name) + `"`
			}
		case redact.RedactURL(value) != value:
			word = ` "$` + variableFor(f.Name) + `"`
		}
		words = append(words, "--"+f.Name+word)
	}
	return words
}

func FlagValues(f *pflag.Flag) []string {
	if many, ok := f.Value.(pflag.SliceValue); ok {
		return many.GetSlice()
	}
	return []string{f.Value.String()}
}

// variableFor is what a shell could call the secret of that name.
func variableFor(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z':
			return c - 'a' + 'A'
		case 'A' <= c && c <= 'Z' || '0' <= c && c <= '9':
			return c
		}
		return '_'
	}, name)
}
