//go:build programs

package recorded_test

import (
	"testing"

	"mcpc/internal/tests/clitest"
)

func TestScriptsOfPrograms(t *testing.T) { clitest.ScriptsOfPrograms(t) }
