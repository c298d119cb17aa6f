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
// this command line did, with -s or after --. A command with a secret is "-- ...", and a URL with one is a variable.
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
	aim.Flags = f.typed
	f.OutStyle.Hints = aim
	f.ErrStyle.Hints = aim
	f.hideHints()
}

// secretServer stands for a server whose URL has a secret. Without any -s the command would go to another server;
// where the variable is not set it goes to none.
const secretServer = `-s "$SERVER"`

// hideHints takes out of the commands in hints what is known to be secret by now.
func (f *Factory) hideHints() {
	holds := func(text string) bool { return f.Secrets.Text(text) != text }
	if f.typed != nil && holds(f.typed.All+f.typed.Server) {
		hidden := *f.typed
		hidden.Server = ""
		if holds(hidden.All) {
			hidden.All = ""
		}
		for _, flag := range f.typedFlags {
			word := typedWord(flag, &f.Secrets)
			hidden.Server = strings.TrimPrefix(hidden.Server+" "+word, " ")
		}
		f.typed = &hidden
	}
	for _, aim := range []*hint.Context{&f.OutStyle.Hints, &f.ErrStyle.Hints} {
		if aim.Flags != nil {
			aim.Flags = f.typed
		}
		if holds(aim.ServerFlag) {
			aim.ServerFlag = secretServer
		}
		if holds(aim.ServerCommand) {
			aim.ServerCommand = hint.Elsewhere
		}
	}
}

// carriedFlags are flags of all commands that the command of a hint repeats, else it could
// reach another server or use another account. --state belongs to every command.
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

// NoteTyped remembers which of these were typed, before variables fill in others. A
// variable is still set for the next command.
func (f *Factory) NoteTyped(flags *pflag.FlagSet) {
	t := &hint.Flags{Commands: map[string]bool{}}
	if flag := flags.Lookup("state"); flag != nil && flag.Changed {
		t.All = typedWord(typedFlags(flag)[0], &f.Secrets)
	}
	flag := flags.Lookup("account")
	f.AccountTyped = flag != nil && flag.Changed
	f.typedFlags = nil
	var there []string
	for _, name := range carriedFlags {
		if flag := flags.Lookup(name); flag != nil && flag.Changed {
			f.typedFlags = append(f.typedFlags, typedFlags(flag)...)
		}
	}
	for _, flag := range f.typedFlags {
		there = append(there, typedWord(flag, &f.Secrets))
	}
	t.Server = strings.Join(there, " ")
	if t.All+t.Server == "" {
		return
	}
	for _, c := range f.Commands() {
		if c.Is&(Asks|Local) != 0 {
			t.Commands[c.Name] = c.Is&Asks != 0
		}
	}
	f.typed = t
}

// SetHintFlags lets the hint of a command line that could not be read carry what was read.
func (f *Factory) SetHintFlags(flags *pflag.FlagSet) {
	if !f.Prepared {
		f.LearnEnvironment()
		f.NoteTyped(flags)
		f.ServerGiven = f.ServerGiven || flags.Changed("server")
		f.NameServer(nil)
	}
}

// A typedFlag is a flag as it was typed, with one of its values.
type typedFlag struct {
	name, value string
	isSwitch    bool
}

func typedFlags(f *pflag.Flag) (all []typedFlag) {
	for _, value := range FlagValues(f) {
		all = append(all, typedFlag{f.Name, value, f.Value.Type() == "bool"})
	}
	return all
}

// typedWord is a flag as text. A secret is named and not said: the shell puts it there from a variable.
func typedWord(f typedFlag, s *redact.Secrets) string {
	word := " " + shellwords.Quote(f.value)
	hides := s.Text(f.value) != f.value
	switch {
	case f.isSwitch:
		word = ""
	case f.name == "header":
		name, text, _ := strings.Cut(f.value, ":")
		field := wire.Field{Name: name, Value: strings.TrimSpace(text)}
		if redact.RedactField(field) != field || hides {
			word = ` "` + name + ": $" + variableFor(name) + `"`
		}
	case redact.RedactURL(f.value) != f.value || hides:
		word = ` "$` + variableFor(f.name) + `"`
	}
	return "--" + f.name + word
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
		if 'a' <= c && c <= 'z' {
			return c - 'a' + 'A'
		}
		if 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			return c
		}
		return '_'
	}, name)
}
