package main

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What only the live view needs is made when it runs: the runtime lists what the start of
// each package allocates.
func TestLiveViewAllocatesNothingAtStart(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("mcpc", "version")
	cmd.Env = append(cmd.Environ(), "GODEBUG=inittrace=1")
	var list strings.Builder
	cmd.Stderr = &list
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(list.String(), -1)
	if len(all) < 100 {
		t.Fatalf("the runtime lists %d packages", len(all))
	}
	ours, bytes := regexp.MustCompile(`^mcpc/internal/(tui|web|live|cli/inspect|cli/liveview)\b`), 0
	for _, line := range all {
		if n, _ := strconv.Atoi(line[2]); ours.MatchString(line[1]) {
			t.Logf("%s: %d bytes", line[1], n)
			bytes += n
		}
	}
	if bytes > 8_000 {
		t.Errorf("the start allocates %d bytes for the live view", bytes)
	}
}
