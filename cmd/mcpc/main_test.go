package main

import (
	"testing"

	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
)

// TestMain makes the test binary the programs that the tests run, so that mcpc is a real process
// with a real exit code, and dies of real signals.
func TestMain(m *testing.M) {
	clitest.Main(shells(program.Tests{M: m}), map[string]func(){"mcpc": main, "viewing": viewing})
}
