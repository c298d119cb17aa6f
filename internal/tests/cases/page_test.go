package cases_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docs/reference/faults.md is made from the cases: the fault, mcpc's message, and the exit code. go
// test -run TestFaultsPage ./internal/tests/cases -faults writes it again.
func TestFaultsPage(t *testing.T) {
	name := filepath.Join("..", "..", "..", "docs", "reference", "faults.md")
	want := faultsPage(readCases(t))
	if *updateFaults {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != want {
		t.Errorf("docs/reference/faults.md is not what the cases say; write it with\ngo test -run TestFaultsPage ./internal/tests/cases -faults (%v)", err)
	}
}

// withoutCase are the faults that have a number and no case, and why.
var withoutCase = []struct{ ids, fault, why string }{
	{"F13", "401 at a terminal, where a login could be offered", "TestTerminalOffersToLogIn; without a terminal: F14"},
	{"F15", "401 with a stored token", "script login"},
	{"F17", "403 insufficient_scope", "TestTerminalOffersToLogIn, script login; any other 403: F18"},
	{"F33", "HTTP/2 GOAWAY", "the mock server supports HTTP/1.1 only; the same loss there: F32, F37"},
	{"F38", "a token whose times are off by hours", "mcpc does not parse access tokens; a 401 decides: F14"},
	{"F60", "responses in another order than the requests", "a command sends one request at a time; the transcripts in internal/client/testdata have two"},
	{"F81", "a proxy that buffers a stream", "it looks like a slow server; -v shows the time to the first byte"},
	{"F154 F155", "a bug in mcpc itself", "no server triggers one; cmd/mcpc/process_test.go plants one"},
	{"S35", "many processes write the state at once, or are killed while writing", "internal/state/process_test.go; with real commands: F159"},
}

// Every number of a fault has a case, or a reason why not, and not both.
func TestEveryFaultHasACaseOrReason(t *testing.T) {
	has := map[string]string{}
	for _, c := range readCases(t) {
		id, _, _ := strings.Cut(c.name, "-")
		if has[id] = "a case"; !strings.HasPrefix(c.head, id+": ") {
			t.Errorf("%s begins with %q, want the number that its name has", c.name, c.head)
		}
	}
	for _, row := range withoutCase {
		for id := range strings.FieldsSeq(row.ids) {
			if has[id] != "" {
				t.Errorf("%s has %s and is listed as one without", id, has[id])
			}
			has[id] = "a reason"
		}
	}
	for n := 1; n <= 159; n++ {
		if id := fmt.Sprintf("F%02d", n); has[id] == "" {
			t.Errorf("%s has neither a case nor a reason", id)
		}
	}
}

func faultsPage(cases []faultCase) string {
	var b strings.Builder
	b.WriteString("# Faults\n\nHow mcpc handles faults of servers, proxies and networks. Each row is a case that the tests\n" +
		"run (`internal/tests/cases/testdata`); this page is generated from them. \"...\" marks text that varies.\n\n" +
		"| case | fault | message | exit |\n| --- | --- | --- | --- |\n")
	for _, c := range cases {
		head, _, _ := strings.Cut(strings.TrimSpace(c.head), "\n")
		id, wrong, ok := strings.Cut(head, ": ")
		if !ok {
			id, wrong = c.name, head
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", id, cell(wrong), cell(says(c)), strings.TrimSpace(c.files["exit"]))
	}
	b.WriteString("\n## Without a case\n\n| case | fault | reason |\n| --- | --- | --- |\n")
	for _, row := range withoutCase {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.ReplaceAll(row.ids, " ", ", "), cell(row.fault), cell(row.why))
	}
	return b.String()
}

// says returns the first line on stderr, or "" if there is no failure.
func says(c faultCase) string {
	for line := range strings.SplitSeq(c.files["stderr"], "\n") {
		if line = strings.TrimSpace(line); line != "" && line != "..." {
			return "`" + strings.ReplaceAll(line, "`", "'") + "`"
		}
	}
	return ""
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
