//go:build programs

package main

import (
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
)

// shells returns tests that start the shells of the machine.
func shells(tests program.Tests) clitest.WithRealShells { return clitest.WithRealShells{Tests: tests} }
