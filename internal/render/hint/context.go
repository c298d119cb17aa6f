// Package hint writes the commands in hints and examples for the server of the user's command line.
package hint

import (
	"strings"

	"mcpc/internal/wire"
)

// Context is how the user named the server on the command line, in words of a shell, so that a
// command in an example or a hint uses the same server when it is pasted. The zero value is for the
// default server.
type Context struct {
	// ServerFlag follows "mcpc": "-s demo".
	ServerFlag string
	// ShellCommands are the commands of mcpc's own shell, which are written without "mcpc"; nil
	// outside of the shell.
	ShellCommands map[string]bool
	// ServerCommand is at the end of the command line: "-- node server.js".
	ServerCommand string
	// Flags are other flags of the user's command line; nil without such flags.
	Flags *Flags
}

// Flags are flags of the command line that the next command needs, too.
type Flags struct {
	// All are flags that every command has, "--state DIR".
	All string
	// Server are flags of commands that send requests to a server, "--protocol REVISION".
	Server string
	// Commands are the names of commands that have any of these flags; true marks a command that
	// sends requests to a server.
	Commands map[string]bool
}

// longCommand is the minimum length of a server's command that a hint repeats only once.
const longCommand = 40

// Elsewhere replaces the command of a server that is too long to repeat or contains a secret.
const Elsewhere = "-- ..."

// Command returns the command line that runs words, such as "describe get-sum", with the user's
// server.
func (c Context) Command(words string) string {
	if c.ShellCommands != nil {
		return words
	}
	line := "mcpc "
	if c.Flags != nil {
		line += withBlank(c.Flags.All) + withBlank(c.Flags.Server)
	}
	line += withBlank(c.ServerFlag) + words
	if c.ServerCommand != "" {
		line += " " + c.ServerCommand
	}
	return line
}

// Text returns a hint as text, and whether it contains a command. It puts a command that ends in a
// server's command between backquotes if text follows, so that a reader sees where it ends. Only the
// first of several commands shows a long server command.
func (c Context) Text(h wire.Hint) (text string, hasCommand bool) {
	parts := h.Parts()
	for i, part := range parts {
		if !part.IsCommand {
			text += part.Text
			continue
		}
		if !part.NeedsServer {
			text += c.localCommand(part.Text)
		} else if c.ServerCommand != "" && i < len(parts)-1 {
			text += "`" + c.Command(part.Text) + "`"
		} else {
			text += c.Command(part.Text)
		}
		if part.NeedsServer && len(c.ServerCommand) > longCommand {
			c.ServerCommand = Elsewhere // for the next commands of this hint: c is a copy
		}
		hasCommand = true
	}
	return text, hasCommand
}

// localCommand returns the command line for words that does not name the server: words alone inside the
// shell, else with mcpc and the user's flags.
func (c Context) localCommand(words string) string {
	name, _, _ := strings.Cut(words, " ")
	if c.ShellCommands[name] {
		return words
	}
	line := "mcpc "
	if c.Flags != nil {
		sendsRequests, known := c.Flags.Commands[name]
		if known {
			line += withBlank(c.Flags.All)
		}
		if sendsRequests {
			line += withBlank(c.Flags.Server)
		}
	}
	return line + words
}

// withBlank returns text and a blank, or "" if text is "".
func withBlank(text string) string {
	if text == "" {
		return ""
	}
	return text + " "
}
