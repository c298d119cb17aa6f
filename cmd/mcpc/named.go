package main

import (
	"slices"

	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// nameServer settles how the commands in hints and examples name the server: as
// this command line did, with -s or behind --, and not at all where that would
// give a secret away. What redaction leaves could not be pasted.
func (a *app) nameServer(argv []string) {
	var aim render.Aim
	switch {
	case len(argv) > 0:
		if slices.Equal(wire.RedactCommand(argv), argv) {
			aim.Behind = "-- " + commandLine(argv)
		}
	case a.serverGiven && a.server != "" && wire.RedactURL(a.server) == a.server:
		aim.Flag = "-s " + render.ShellQuote(a.server)
	}
	if line := aim.Command(""); a.secrets.Text(line) != line {
		aim = render.Aim{}
	}
	a.outStyle.Aim, a.errStyle.Aim = aim, aim
}

// command is a command line for a hint, which goes to the server that this one
// went to.
func (a *app) command(words string) string { return a.errStyle.Aim.Command(words) }
