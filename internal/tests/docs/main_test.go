package docs

import (
	"testing"

	"mcpc/internal/tests/program"
)

func TestMain(m *testing.M) { program.Main(m, "internal/tests/docs/testdata/visit") }
