package main

import (
	"runtime/debug"
	"testing"
)

// What was settled about the heap is not settled anew by the next conversation.
func TestCollectionsAreSettledOnce(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	a := &env{}
	a.getenv = func(string) string { return "" }
	a.spareCollections(true)
	if got := debug.SetGCPercent(90); got != 400 {
		t.Errorf("a conversation of many calls: %d %%", got)
	}
	a.spareCollections(false)
	if got := debug.SetGCPercent(before); got != 90 {
		t.Errorf("the next one made it %d %%", got)
	}
}
