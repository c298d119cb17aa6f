package docs

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"mcpc/internal/proxy"
	"mcpc/internal/tests/module"
)

// docs/reference/capture-format.md describes each member of a line. The lines of the format's own test have them.
func TestCaptureMembersAreDescribed(t *testing.T) {
	page := readPage(t, "docs/reference/capture-format.md")
	lines := strings.TrimSpace(readPage(t, "internal/capture/rows/testdata/format.jsonl"))
	members := map[string]bool{}
	for line := range strings.SplitSeq(lines, "\n") {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatal(err)
		}
		for name := range object {
			members[name] = true
		}
	}
	if len(members) < 15 {
		t.Fatalf("only %d members found", len(members))
	}
	for name := range members {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/reference/capture-format.md does not describe the member %q", name)
		}
	}
}

// The texts that say how long a message is held agree with the limit.
func TestHoldTimeIsDescribed(t *testing.T) {
	limit := strconv.Itoa(int(proxy.MaxHold.Minutes())) + " minutes"
	for _, name := range []string{"docs/inspect.md"} {
		if !strings.Contains(readPage(t, name), limit) {
			t.Errorf("%s does not say that a message is held for %s (proxy.MaxHold)", name, limit)
		}
	}
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(module.Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
