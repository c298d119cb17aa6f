package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var page = filepath.Join("..", "..", "..", "docs", "dev", "speed.md")

// shape is a table without what was measured: in each line only the cells of these columns.
func shape(lines []string, columns ...int) (out []string) {
	for _, line := range lines {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		var kept []string
		for _, column := range columns {
			if column < len(cells) {
				kept = append(kept, strings.TrimSpace(cells[column]))
			}
		}
		out = append(out, strings.Join(kept, " | "))
	}
	return out
}

// The page has the rows and the goals that the program has, and a verdict for each row.
func TestPageHasTheShapeOfTheTables(t *testing.T) {
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	list := rows()
	for _, table := range []struct {
		name    string
		lines   []string
		columns []int
		verdict int
	}{
		{"goals", goalTable(list), []int{1, 5, 7, 9}, 11},
		{"peers", peerTable(list), []int{1}, 0},
		{"flat", flatTable(pairs()), []int{1, 2, 3, 7}, 8},
	} {
		t.Run(table.name, func(t *testing.T) {
			_, text, begun := strings.Cut(string(raw), tableStart(table.name))
			text, _, ended := strings.Cut(text, tableEnd)
			if !begun || !ended {
				t.Fatalf("%s has no table %q", page, table.name)
			}
			written := strings.Split(strings.TrimSpace(text), "\n")
			got, want := strings.Join(shape(written, table.columns...), "\n"), strings.Join(shape(table.lines, table.columns...), "\n")
			if got != want {
				t.Errorf("%s has not the table that scripts/bench.sh --docs writes:\n%s\nand not\n%s", page, got, want)
			}
			for _, line := range written[min(4, len(written)):] {
				if cells := strings.Split(line, "|"); table.verdict > 0 && !regexp.MustCompile(`^ ((not )?met|not measured)`).MatchString(cells[table.verdict]) {
					t.Errorf("the line has no verdict: %s", line)
				}
			}
		})
	}
}

// measuredRow is a row with the samples of raw and mcpc in two rounds.
func measuredRow(g goal, requests int, took time.Duration, peak int64) *row {
	return &row{key: "k", name: "n", goal: g, contenders: []*contender{
		{name: "raw", samples: []sample{{took: 10 * time.Millisecond, p99: time.Millisecond}, {took: 20 * time.Millisecond, p99: time.Millisecond}}},
		{name: "mcpc", requests: requests, samples: []sample{{took: took, peak: peak, p99: 2 * time.Millisecond}, {took: 2 * took, peak: peak, p99: 2 * time.Millisecond}}},
	}}
}

func TestVerdicts(t *testing.T) {
	for name, test := range map[string]struct {
		row  *row
		want string
	}{
		"met":      {measuredRow(goal{maxRatio: 1.5, maxMB: 40, maxRequests: 1, maxTime: 50 * time.Millisecond}, 1, 15*time.Millisecond, 40e6), "met"},
		"ratio":    {measuredRow(goal{maxRatio: 1.4}, 1, 15*time.Millisecond, 0), "not met: time"},
		"absolute": {measuredRow(goal{maxTime: 20 * time.Millisecond}, 1, 15*time.Millisecond, 0), "not met: time"},
		"memory":   {measuredRow(goal{maxRatio: 2, maxMB: 40}, 1, 15*time.Millisecond, 41e6), "not met: memory"},
		"requests": {measuredRow(goal{maxRequests: 1}, 2, 15*time.Millisecond, 0), "not met: requests"},
		"p99":      {measuredRow(goal{maxRatio: 1.9, limitsP99: true}, 0, 15*time.Millisecond, 0), "not met: p99"},
	} {
		if _, got := test.row.cells(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	failed := measuredRow(goal{}, 0, 1, 0)
	failed.contenders[1].failure = "fails: exit code 3"
	if _, got := failed.cells(); got != "not met: fails: exit code 3" {
		t.Errorf("a run that fails: %q", got)
	}
}

// Other programs that fail are named in the table, with the reason.
func TestPeersThatFail(t *testing.T) {
	r := measuredRow(goal{}, 0, 10*time.Millisecond, 0)
	r.peers = "list"
	r.contenders = append(r.contenders, &contender{name: "Inspector", failure: "fails: exit code 1"},
		&contender{name: "curl", samples: []sample{{took: 30 * time.Millisecond, peak: 12e6}}})
	table := strings.Join(peerTable([]*row{r}), "\n")
	if !regexp.MustCompile(`\| n \|  \| 3\.0 \(12 MB\) \|  \|  \| fails: exit code 1 \|  \|`).MatchString(table) {
		t.Error(table)
	}
}

func TestWriteDocsReplacesOnlyItsTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	old := "before\n" + tableStart("goals") + "\nold\n" + tableEnd + "\nbetween\n" + tableStart("flat") + "\nkept\n" + tableEnd + "\n"
	if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &bench{config: config{docs: file, rounds: 2, commit: "abc"}}
	if err := b.writeDocs("goals", []string{"| new |"}); err != nil {
		t.Fatal(err)
	}
	raw, _ := os.ReadFile(file)
	if want := strings.Replace(old, "\nold\n", "\n\n"+b.describeRun()+"\n\n| new |\n\n", 1); string(raw) != want {
		t.Errorf("%s\nwant\n%s", raw, want)
	}
	if err := b.writeDocs("peers", nil); err == nil {
		t.Error("a page without the table is written")
	}
}
