package fault_test

import (
	"testing"

	"mcpc/internal/tests/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, nil) }
