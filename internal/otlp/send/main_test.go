package send

import (
	"testing"

	"go.uber.org/goleak"
)

// No goroutine may be left after Close.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
