// Package hint writes the commands in hints and examples so that they go to the server
// of the command line that they answer.
package hint

import (
	"strings"

	"mcpc/internal/wire"
)

// Context is how the user named the server on the command line, in words of a
// shell, so that a command in an example or a hint goes to the same server when
// it is pasted. The zero value is for the server that is meant where none is named.
type Context struct {
	// ServerFlag follows "mcpc": "-s demo".
	ServerFlag string
	// ShellCommands are the commands of mcpc's own shell, which stand in a line of it without
	// "mcpc"; nil elsewhere.
	ShellCommands map[string]bool
	// ServerCommand follows all else: "-- node server.js".
	ServerCommand string
	// Flags are other flags that were typed; nil is none.
	Flags *Flags
}

// Flags are flags of the command line that the next command needs as well.
type Flags struct {
	// All are those of every command, "--state DIR".
	All string
	// Server are those of commands that send requests to a server, "--protocol REVISION".
	Server string
	// Commands are the names of commands that use any of these; true marks one that
	// sends requests to a server.
	Commands map[string]bool
}

// longCommand is the length from which the command of a server is written once in a hint.
const longCommand = 40

// Elsewhere stands for the command of a server that the user typed, if it is too long to repeat or has a secret.
const Elsewhere = "-- ..."

// Command is the command line that runs words, "describe get-sum", there.
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

// Text returns a hint as text, and whether it has a command. A command with the command of a
// server is put between backquotes where more of the hint follows, so that its end can be seen.
func (c Context) Text(h wire.Hint) (text string, hasCommand bool) {
	parts := h.Parts()
	for i, part := range parts {
		switch {
		case !part.Command:
			text += part.Text
			continue
		case !part.There:
			text += c.localCommand(part.Text)
		case c.ServerCommand != "" && i < len(parts)-1:
			text += "`" + c.Command(part.Text) + "`"
		default:
			text += c.Command(part.Text)
		}
		if part.There && len(c.ServerCommand) > longCommand {
			c.ServerCommand = Elsewhere
		}
		hasCommand = true
	}
	return text, hasCommand
}

// local is the command line that runs words with the flags that were typed.
func (c Context) localCommand(words string) string {
	name, _, _ := strings.Cut(words, " ")
	if c.ShellCommands[name] {
		return words
	}
	line := "mcpc "
	if c.Flags != nil {
		asks, known := c.Flags.Commands[name]
		if known {
			line += withBlank(c.Flags.All)
		}
		if asks {
			line += withBlank(c.Flags.Server)
		}
	}
	return line + words
}

// spaced is text with a blank behind it, or nothing.
func withBlank(text string) string {
	if text == "" {
		return ""
	}
	return text + " "
}
