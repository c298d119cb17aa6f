//go:build programs

package main

import (
	"strconv"
	"strings"
	"testing"
)

// A disk that is full at any tenth, or a standard output that takes nothing, is an error.
func TestLargeResultsOnAFullDisk(t *testing.T) {
	t.Parallel()
	s := newLargeServer(t)
	limited := func(state, line string, tenth int, more ...string) processResult {
		cmd := s.large(t, state, "chunked", more...)
		cmd.Args = append([]string{"sh", "-c", line, strconv.Itoa(largeText / 10 * tenth / 512)}, cmd.Args...)
		cmd.Path = "/bin/sh"
		return result(t, cmd, nil)
	}
	for tenth := 1; tenth < 10; tenth++ {
		state := t.TempDir()
		got := limited(state, `ulimit -f "$0"; exec "$@"`, tenth, "--json")
		if got.stdout != "" || got.ending != "13" || !strings.Contains(got.stderr, "temporary file") {
			t.Errorf("full at %d tenths: %d bytes, ends with %s\n%.300s", tenth, len(got.stdout), got.ending, got.stderr)
		}
		nothingLeft(t, state, true)
	}
	for _, flag := range []string{"--json", "--no-record", "--output=/dev/stdout"} {
		state := t.TempDir()
		if got := limited(state, `exec "$@" > /dev/full`, 1, flag); got.ending != "13" || !strings.Contains(got.stderr, "writing the result") {
			t.Errorf("%s > /dev/full ends with %s\n%.300s", flag, got.ending, got.stderr)
		}
		if got := limited(state, `"$@" | head -c 100`, 1, flag); len(got.stdout) != 100 || got.stderr != "" {
			t.Errorf("%s | head: %d bytes\n%.300s", flag, len(got.stdout), got.stderr)
		}
		nothingLeft(t, state, flag == "--json")
	}
}
