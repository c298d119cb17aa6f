package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docs/faults.md is made from the cases: what is wrong, what mcpc says, and how
// it ends. go test -run TestFaultsPage ./cmd/mcpc -faults writes it anew.
func TestFaultsPage(t *testing.T) {
	name := filepath.Join("..", "..", "docs", "faults.md")
	want := faultsPage(readCases(t))
	if *updateFaults {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != want {
		t.Errorf("docs/faults.md is not what the cases say; write it with\ngo test -run TestFaultsPage ./cmd/mcpc -faults (%v)", err)
	}
}

func faultsPage(cases []faultCase) string {
	var b strings.Builder
	b.WriteString("# Faults\n\nWhat mcpc makes of servers, proxies and networks that do something wrong. Each row is a case that the tests\n" +
		"play (`cmd/mcpc/testdata/cases`), and this page is made from them. \"...\" stands for what differs from run to run.\n\n" +
		"| case | what is wrong | what mcpc says | exit |\n| --- | --- | --- | --- |\n")
	for _, c := range cases {
		head, _, _ := strings.Cut(strings.TrimSpace(c.head), "\n")
		id, wrong, ok := strings.Cut(head, ": ")
		if !ok {
			id, wrong = c.name, head
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", id, cell(wrong), cell(says(c)), strings.TrimSpace(c.files["exit"]))
	}
	return b.String()
}

// says is the first line on stderr; where all is well there is none.
func says(c faultCase) string {
	for line := range strings.SplitSeq(c.files["stderr"], "\n") {
		if line = strings.TrimSpace(line); line != "" && line != "..." {
			return "`" + strings.ReplaceAll(line, "`", "'") + "`"
		}
	}
	return ""
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
