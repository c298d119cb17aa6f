package app_test

import (
	"testing"

	"mcpc/internal/tests/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, nil) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }
