package cmdutil

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// A Maker makes one command and what is below it, and says what has to be known of it
// where it is not made.
type Maker struct {
	Name string
	Make func(*Factory) *cobra.Command
	Is   Trait
}

func Command(name string, make func(*Factory) *cobra.Command, is Trait) Maker {
	return Maker{name, make, is}
}

// A Trait is what has to be known of a command that is not made.
type Trait uint8

const (
	Asks    Trait = 1 << iota // asks a server
	Local                     // needs the state, and asks no server
	InShell                   // is a word of the shell too
	Alone                     // takes no other word than what names a server
	Whole                     // writes of all commands
	Starts                    // starts a server's command, and takes no other server
)

// A Group is some commands under a heading.
type Group struct {
	Head     string
	Commands []Maker
}

// Commands returns the makers of all commands.
func (f *Factory) Commands() (all []Maker) {
	if f.Groups == nil {
		return nil
	}
	for _, g := range f.Groups() {
		all = append(all, g.Commands...)
	}
	return all
}

// CommandIs reports that a command has a trait.
func (f *Factory) CommandIs(name string, t Trait) bool {
	return slices.ContainsFunc(f.Commands(), func(c Maker) bool { return c.Name == name && c.Is&t != 0 })
}

// CommandsHint is the hint where the first word is no command.
var CommandsHint = wire.Run("--help") + " shows the commands"

// RunOf returns the command line of cmd as a hint; behind is appended to the command's path.
func RunOf(cmd *cobra.Command, behind string) wire.Hint {
	return wire.Run(strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "mcpc")+behind, " "))
}

func CommandNames(cmd *cobra.Command) []string {
	return sliceutil.Map(
		slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return c.Hidden }),
		(*cobra.Command).Name,
	)
}

// IsURL tells a server's address from a word.
func IsURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// SplitDash parts the arguments at "--": what follows is a server's command. Appending to own changes
// no word of it.
func SplitDash(cmd *cobra.Command, args []string) (own, argv []string) {
	at := cmd.ArgsLenAtDash()
	if at < 0 {
		return args, nil
	}
	return args[:at:at], args[at:]
}

// BeforeDashes are the words before "--": what follows is another program's.
func BeforeDashes(args []string) []string {
	if at := slices.Index(args, "--"); at >= 0 {
		return args[:at]
	}
	return args
}
