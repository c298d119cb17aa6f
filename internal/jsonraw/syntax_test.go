package jsonraw

import (
	"strings"
	"testing"
)

func TestUsualNamesShareNoSlot(t *testing.T) {
	for _, name := range strings.Fields(usual) {
		if got := usualNames[nameSlot([]byte(name))]; got != name {
			t.Errorf("%q stands where %q should", got, name)
		}
	}
}
