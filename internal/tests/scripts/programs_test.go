//go:build programs

package scripts_test

import (
	"testing"

	"mcpc/internal/tests/clitest"
)

func TestScriptsOfPrograms(t *testing.T) { clitest.ScriptsOfPrograms(t) }
