package cmdutil

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A CommandMaker builds one command with its subcommands. Its name and traits are known without
// building it: an invocation builds only the commands that its words name.
type CommandMaker struct {
	Name   string
	Make   func(*Factory) *cobra.Command
	Traits Trait
	// NewName is "" for a command that help lists. Otherwise Name is an old name, which works as before and
	// is not listed, and NewName is the command line that replaces it.
	NewName string
}

// Command returns a CommandMaker.
func Command(name string, make func(*Factory) *cobra.Command, traits Trait) CommandMaker {
	return CommandMaker{Name: name, Make: make, Traits: traits}
}

// OldName returns a CommandMaker for a name that newName replaced.
func OldName(name, newName string, make func(*Factory) *cobra.Command, traits Trait) CommandMaker {
	return CommandMaker{Name: name, Make: make, Traits: traits, NewName: newName}
}

// A Trait is a set of properties of a command, as bits.
type Trait uint8

const (
	AsksServer       Trait = 1 << iota // sends requests to the server that the command line names
	NeedsState                         // reads the state directory, and asks no server
	InShell                            // is a command of the shell too
	OnlyTakesServer                    // takes no word except the name of a server
	NeedsAllCommands                   // describes all commands, so that the whole tree must be built
	OnlyStartsServer                   // starts the command of a server, and takes no other server
)

// A Group is some commands under a heading.
type Group struct {
	Head     string
	Commands []CommandMaker
}

// Commands returns the makers of all commands.
func (f *Factory) Commands() []CommandMaker {
	if f.Groups == nil {
		return nil
	}
	var all []CommandMaker
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
var CommandsHint = wire.Run("help all") + " lists the commands"

// CommandHint returns the path of cmd, followed by suffix, as a hint.
func CommandHint(cmd *cobra.Command, suffix string) wire.Hint {
	path := strings.TrimPrefix(cmd.CommandPath(), "mcpc")
	return wire.Run(strings.TrimPrefix(path+suffix, " "))
}

// AddListName adds the hidden subcommand list to a command that lists without a subcommand: other commands
// have a list, and so do other programs.
func AddListName(parent *cobra.Command, otherNames ...string) {
	parent.AddCommand(&cobra.Command{
		Use:     "list",
		Aliases: append(otherNames, "ls"),
		Short:   parent.Short,
		Hidden:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage.New(cmd.CommandPath()+" takes no argument", CommandHint(parent, " --help")+" shows the commands")
			}
			return parent.RunE(cmd, args)
		},
	})
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
	dash := cmd.ArgsLenAtDash()
	if dash < 0 { // there is no "--"
		return args, nil
	}
	return args[:dash:dash], args[dash:]
}

// BeforeDashes returns the words before "--".
func BeforeDashes(args []string) []string {
	if dash := slices.Index(args, "--"); dash >= 0 {
		return args[:dash]
	}
	return args
}
