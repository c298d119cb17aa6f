package canary

import (
	"testing"

	"mcpc/internal/tests/clitest"
)

func TestMain(m *testing.M) {
	clitest.Main(m, map[string]func(){"crashing": crashing, "leaking": leaking, "declaring": declaring})
}
