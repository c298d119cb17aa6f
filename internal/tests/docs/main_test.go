//go:build !programs

package docs

import (
	"testing"

	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
)

func TestMain(m *testing.M) { clitest.Main(program.Tests{M: m}, nil) }
