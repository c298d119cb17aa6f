package render

import "strings"

// An Aim is how the user named the server on the command line, in words of a
// shell, so that a command in an example or a hint goes to the same server when
// it is pasted. The zero Aim is for the server that is meant where none is named.
type Aim struct {
	// Flag stands behind "mcpc": "-s demo".
	Flag string
	// Bare is set inside of mcpc's own shell, where the words are all of it.
	Bare bool
	// Behind stands behind all else: "-- node server.js".
	Behind string
	// Typed are other flags that were typed; nil is none.
	Typed *Typed
}

// Typed are flags of the command line that the next command needs as well.
type Typed struct {
	// Local are those of every command, "--state DIR"; There those of commands that
	// ask a server, "--protocol REVISION".
	Local, There string
	// Commands are the names of commands that use any of these; true stands for one that
	// asks a server.
	Commands map[string]bool
}

// Command is the command line that runs words, "describe get-sum", there.
func (a Aim) Command(words string) string {
	if a.Bare {
		return words
	}
	line := "mcpc "
	if a.Typed != nil {
		line += spaced(a.Typed.Local) + spaced(a.Typed.There)
	}
	line += spaced(a.Flag) + words
	if a.Behind != "" {
		line += " " + a.Behind
	}
	return line
}

// Quoted is Command for the middle of a sentence: where the command ends in another
// one's words, it stands between quotes, so that it can be told where it ends.
func (a Aim) Quoted(words string) string {
	if a.Behind == "" {
		return a.Command(words)
	}
	return "`" + a.Command(words) + "`"
}

// Carry gives the commands in a text, "mcpc log shows it", the flags that were typed.
// What Command wrote has them already.
func (a Aim) Carry(text string) string {
	const name = "mcpc "
	if a.Typed == nil {
		return text
	}
	var b strings.Builder
	for at := 0; ; {
		next := strings.Index(text[at:], name)
		if next < 0 {
			return b.String() + text[at:]
		}
		end := at + next + len(name)
		b.WriteString(text[at:end])
		before := end - len(name) - 1
		if before < 0 || text[before] == ' ' || text[before] == '`' {
			b.WriteString(a.Typed.before(text[end:]))
		}
		at = end
	}
}

// before is what goes before a command's name.
func (t *Typed) before(rest string) string {
	length := strings.IndexFunc(rest, func(c rune) bool { return c != '-' && (c < 'a' || c > 'z') })
	if length < 0 {
		length = len(rest)
	}
	asks, known := t.Commands[rest[:length]]
	switch {
	case !known:
		return ""
	case asks:
		return spaced(t.Local) + spaced(t.There)
	}
	return spaced(t.Local)
}

// spaced is text with a blank behind it, or nothing.
func spaced(text string) string {
	if text == "" {
		return ""
	}
	return text + " "
}
