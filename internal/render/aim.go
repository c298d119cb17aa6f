package render

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
}

// Command is the command line that runs words, "describe get-sum", there.
func (a Aim) Command(words string) string {
	if a.Bare {
		return words
	}
	line := "mcpc "
	if a.Flag != "" {
		line += a.Flag + " "
	}
	line += words
	if a.Behind != "" {
		line += " " + a.Behind
	}
	return line
}
