package glossary

import (
	"slices"
	"strings"
	"testing"
)

// Each entry has its required parts, in one style, and refers only to other entries.
func TestEveryEntryIsWhole(t *testing.T) {
	entries, groups := Read()
	if len(entries) < 200 || len(groups) != 9 {
		t.Fatalf("%d entries in %d groups", len(entries), len(groups))
	}
	for _, e := range entries {
		name := e.Words[0]
		for what, text := range map[string]string{"title": e.Title, "revisions": e.Revisions, "from": e.From, "where": e.Where} {
			if text == "" {
				t.Errorf("%s has no %s", name, what)
			}
		}
		for _, text := range append([]string{e.Title, e.Means, e.Next, e.Revisions, e.From, e.Where}, e.Words...) {
			if strings.HasSuffix(text, ".") || strings.TrimSpace(text) != text || strings.Contains(text, "  ") {
				t.Errorf("%s: %q ends in a full stop, or has blanks too many", name, text)
			}
		}
		for _, see := range e.See {
			if Find(entries, see) == nil {
				t.Errorf("%s leads to %s, which is not there", name, see)
			}
		}
	}
}

// A word occurs once in its group.
func TestNoWordStandsTwice(t *testing.T) {
	entries, _ := Read()
	seen := map[string]bool{}
	for _, e := range entries {
		for _, w := range e.Words {
			if key := e.Group + " " + normalize(w); seen[key] {
				t.Errorf("%s stands twice in %s", w, e.Group)
			} else {
				seen[key] = true
			}
		}
	}
}

func TestFind(t *testing.T) {
	entries, _ := Read()
	for _, c := range []struct{ typed, want string }{
		{"-32602", "-32602"},
		{"32602", "-32602"},
		{"32050", "-32020..-32099"},
		{"code -32602", "-32602"},
		{"Invalid  params", "-32602"},
		{"-32007", "-32000..-32019"},
		{"-32050", "-32020..-32099"},
		{"-32100", "-32100..-32768"},
		{"-32768", "-32100..-32768"},
		{"-31999", "application code"},
		{"-32769", "application code"},
		{"1001", "application code"},
		{"code 5", "application code"},
		{"code 0", "application code"},
		{"6", "exit 6"},
		{"exit 6", "exit 6"},
		{"exit code 6", "exit 6"},
		{"RPC_ERROR", "exit 6"},
		{"130", "exit 128+n"},
		{"exit 143", "exit 128+n"},
		{"404", "http 404"},
		{"http 201", "http 2xx"},
		{"http 404", "http 404"},
		{"HTTP status 404", "http 404"},
		{"418", "http 4xx"},
		{"http 599", "http 5xx"},
		{"mcp-session-id:", "session"},
		{"Mcp-Param-Region", "Mcp-Param"},
		{"io.modelcontextprotocol/subscriptionId", "subscriptionId"},
		{"io.modelcontextprotocol/skills", "skill"},
		{"io.modelcontextprotocol/ui", "MCP Apps"},
		{"io.modelcontextprotocol/tasks", "task"},
		{"extensions", "extension"},
		{"-32000", "-32000"},
		{"Connection closed", "-32000"},
		{"no tools", "no tools"},
		{"dpop", "DPoP"},
		{"SEP-2640", "skill"},
		{"conversation", "(server stream)"},
		{"(conversation)", "(server stream)"},
		{"approved", "approved"},
		{"intercept", "intercept"},
		{"events/list", "events/list"},
		{"no_match", "exit 1"},
		{"isError", "isError"},
		{"input required", "input_required|exit 11"},
		{"batch", "batch|batch"},
		{"protocol error", "exit 6"},
		{"protocol_error", "exit 6"},
		{"Tool execution error", "exit 5"},
		{"transport error", "exit 7"},
		{"exit 99", ""},
		{"http 700", ""},
		{"99999999999999999999", ""},
		{"", ""},
		{"frobnicate", ""},
	} {
		var got []string
		for _, e := range Find(entries, c.typed) {
			got = append(got, e.Words[0])
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%q finds %q, want %s", c.typed, got, c.want)
		}
	}
}

// An entry may override a text of its group, and only for itself.
func TestEntriesShareWhatTheirGroupSays(t *testing.T) {
	entries, _ := Read()
	by := func(word string) Entry {
		return entries[slices.IndexFunc(entries, func(e Entry) bool { return slices.Contains(e.Words, word) })]
	}
	if a, b := by("denied"), by("unreachable"); a.Exit != "4" || b.Exit != "7" || a.Next == "" || a.Next != b.Next {
		t.Errorf("got %+v and %+v", a, b)
	}
	if e := by("-32601"); !strings.Contains(e.Means, "comes with HTTP status 404") {
		t.Errorf("a line that goes on is lost: %q", e.Means)
	}
}
