package main

import (
	"os"
	"testing"

	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
)

// TestMain makes the test binary the programs that the tests run, so that mcpc is a real process
// with a real exit code, and dies of real signals.
func TestMain(m *testing.M) {
	clitest.Main(withPath{program.Tests{M: m}}, map[string]func(){
		"mcpc": main, "viewing": viewing,
	})
}

// withPath are tests that use the real programs of the machine with the tag programs.
type withPath struct{ program.Tests }

func (w withPath) Run() int {
	if realPrograms {
		if err := os.Setenv("PATH", clitest.RealPath()); err != nil {
			panic(err)
		}
	}
	return w.Tests.Run()
}
