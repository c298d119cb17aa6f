//go:build programs

package check_test

import (
	"testing"

	"mcpc/internal/tests/clitest"
)

func TestScriptsOfPrograms(t *testing.T) { clitest.ScriptsOfPrograms(t) }
