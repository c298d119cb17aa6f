package render

import (
	"strings"

	"mcpc/internal/wire"
)

// Aim is how the user named the server on the command line, in words of a
// shell, so that a command in an example or a hint goes to the same server when
// it is pasted. The zero value is for the server that is meant where none is named.
type Aim struct {
	// Flag follows "mcpc": "-s demo".
	Flag string
	// Shell are the commands of mcpc's own shell, which stand in a line of it without
	// "mcpc"; nil elsewhere.
	Shell map[string]bool
	// Behind follows all else: "-- node server.js".
	Behind string
	// Typed are other flags that were typed; nil is none.
	Typed *Typed
}

// Typed are flags of the command line that the next command needs as well.
type Typed struct {
	// Local are those of every command, "--state DIR".
	Local string
	// There are those of commands that send requests to a server, "--protocol REVISION".
	There string
	// Commands are the names of commands that use any of these; true marks one that
	// sends requests to a server.
	Commands map[string]bool
}

// Command is the command line that runs words, "describe get-sum", there.
func (c Aim) Command(words string) string {
	if c.Shell != nil {
		return words
	}
	line := "mcpc "
	if c.Typed != nil {
		line += spaced(c.Typed.Local) + spaced(c.Typed.There)
	}
	line += spaced(c.Flag) + words
	if c.Behind != "" {
		line += " " + c.Behind
	}
	return line
}

// Hint returns a hint as text, and whether it has a command. A command with the command of a
// server is put between backquotes where more of the hint follows, so that its end can be seen.
func (c Aim) Hint(h wire.Hint) (text string, hasCommand bool) {
	parts := h.Parts()
	for i, part := range parts {
		switch {
		case !part.Command:
			text += part.Text
			continue
		case !part.There:
			text += c.run(part.Text)
		case c.Behind != "" && i < len(parts)-1:
			text += "`" + c.Command(part.Text) + "`"
		default:
			text += c.Command(part.Text)
		}
		hasCommand = true
	}
	return text, hasCommand
}

// run is the command line that runs words with the flags that were typed.
func (c Aim) run(words string) string {
	name, _, _ := strings.Cut(words, " ")
	if c.Shell[name] {
		return words
	}
	line := "mcpc "
	if c.Typed != nil {
		asks, known := c.Typed.Commands[name]
		if known {
			line += spaced(c.Typed.Local)
		}
		if asks {
			line += spaced(c.Typed.There)
		}
	}
	return line + words
}

// spaced is text with a blank behind it, or nothing.
func spaced(text string) string {
	if text == "" {
		return ""
	}
	return text + " "
}
