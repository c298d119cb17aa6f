package cmdutil

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// A Maker builds one command with its subcommands. Name and Is are known without building it.
type CommandMaker struct {
	Name   string
	Make   func(*Factory) *cobra.Command
	Traits Trait
}

// Command returns a Maker.
func Command(name string, make func(*Factory) *cobra.Command, is Trait) CommandMaker {
	return CommandMaker{name, make, is}
}

// A Trait is a property of a command that is known without building it.
type Trait uint8

const (
	AsksServer       Trait = 1 << iota // asks a server
	NeedsState                         // needs the state, and asks no server
	InShell                            // is a word of the shell too
	OnlyTakesServer                    // takes no other word than what names a server
	NeedsAllCommands                   // writes of all commands
	OnlyStartsServer                   // starts a server's command, and takes no other server
)

// A Group is some commands under a heading.
type Group struct {
	Head     string
	Commands []CommandMaker
}

// Commands returns the makers of all commands.
func (f *Factory) Commands() (all []CommandMaker) {
	if f.Groups == nil {
		return nil
	}
	for _, g := range f.Groups() {
		all = append(all, g.Commands...)
	}
	return all
}

// CommandHasTrait reports whether the named command has a trait.
func (f *Factory) CommandHasTrait(name string, t Trait) bool {
	return slices.ContainsFunc(f.Commands(), func(c CommandMaker) bool { return c.Name == name && c.Traits&t != 0 })
}

// CommandsHint is the hint if the first word is not a command.
var CommandsHint = wire.Run("--help") + " shows the commands"

// CommandHint returns the command line of cmd as a hint. behind is appended to the path.
func CommandHint(cmd *cobra.Command, behind string) wire.Hint {
	return wire.Run(strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "mcpc")+behind, " "))
}

// CommandNames returns the names of the subcommands that are not hidden.
func CommandNames(cmd *cobra.Command) []string {
	shown := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return c.Hidden })
	return sliceutil.Map(shown, (*cobra.Command).Name)
}

// IsURL reports whether a word begins with http:// or https://.
func IsURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// SplitDash splits the arguments at "--": argv is the command of a server, or nil. Appending to own
// does not overwrite argv.
func SplitDash(cmd *cobra.Command, args []string) (own, argv []string) {
	at := cmd.ArgsLenAtDash()
	if at < 0 {
		return args, nil
	}
	return args[:at:at], args[at:]
}

// BeforeDashes returns the words before "--".
func BeforeDashes(args []string) []string {
	if at := slices.Index(args, "--"); at >= 0 {
		return args[:at]
	}
	return args
}
