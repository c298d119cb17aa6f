package main

import (
	"github.com/rogpeppe/go-internal/testscript"

	"mcpc/internal/tests/program"
)

func lookFor(name string) (string, error) { return program.LookFor(name) }

// scriptNeeds is the command of a script that starts such programs.
func scriptNeeds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: needs PROGRAM...")
	}
	for _, name := range args {
		_, err := program.LookFor(name)
		ts.Check(err)
	}
}
