package validate

import (
	"errors"
	"strings"
	"testing"
)

func TestGuardRecoversPanics(t *testing.T) {
	err := guard(func() error { panic("assignment to entry in nil map") })
	var fault *Error
	if !errors.As(err, &fault) || fault.Reason != Crashed || !strings.Contains(fault.Text, "nil map") {
		t.Errorf("got %v", err)
	}
}
