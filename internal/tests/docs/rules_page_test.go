package docs

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mcpc/internal/tests/module"
)

// A test names what it checks in a separate line, in the comment of a test function, in a script,
// or in the text before the files of a case:
//
//	rules 18, 19
//	authorization 21, 22
//	surprises 3
//
// The numbers of the rules come from testdata/rules.txt, the numbers of authorization, which is the
// way to a token step by step, from testdata/authorization.txt, and the numbers of the surprises,
// which real servers were seen to do, from testdata/surprises.txt. docs/dev/rules.md is made from
// all of it: go test -run TestRulesPage ./internal/tests/docs -rules

var updateRules = flag.Bool("rules", false, "write docs/dev/rules.md anew")

// numbered is one line of rules.txt or surprises.txt. without replaces the tests if tests are
// impossible.
type numbered struct {
	section              string
	number               int
	level, text, without string
}

// A holder is a test that names numbers: its place and its name.
type holder struct{ path, name string }

func (h holder) link() string { return fmt.Sprintf("[%s](../../%s)", h.name, h.path) }

// rulesParts are the parts of the page: the word that tests name a number by, which is also the
// name of the list, and the last number.
var rulesParts = []struct {
	word, intro, column string
	last                int
}{
	{"rules", "# Rules\n\nThe specification's requirements for clients, in all revisions, and the tests that check them. This page is\n" +
		"generated from the tests, which name the numbers, and from `internal/tests/docs/testdata/rules.txt`. The level is the\n" +
		"specification's; the rule states what mcpc does.\n", "rule", 233},
	{"authorization", "\n# Authorization, step by step\n\nThe steps of the OAuth flow, from `internal/tests/docs/testdata/authorization.txt`, in more detail than the rules above,\n" +
		"with the steps that the RFCs require. Each step states what mcpc does.\n", "step", 91},
	{"surprises", "\n# Surprises\n\nBehaviour of real servers. Each row has a case that shows how mcpc handles it.\n", "behaviour", 19},
}

func TestRulesPage(t *testing.T) {
	name := module.Path(t, "docs/dev/rules.md")
	var b strings.Builder
	for _, p := range rulesParts {
		b.WriteString(p.intro)
		writeNumbered(&b, p.column, readNumbered(t, p.word+".txt"), holders(t, p.word))
	}
	want := b.String()
	if *updateRules {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != want {
		t.Errorf("docs/dev/rules.md is not what the tests say; write it with\ngo test -run TestRulesPage ./internal/tests/docs -rules (%v)", err)
	}
}

func TestEveryRule(t *testing.T) {
	for _, p := range rulesParts {
		for _, problem := range unheld(readNumbered(t, p.word+".txt"), p.last, holders(t, p.word)) {
			t.Errorf("%s.txt: %s", p.word, problem)
		}
	}
}

func TestRuleRowsWithoutTestAreFound(t *testing.T) {
	rows := []numbered{{number: 1}, {number: 2, without: "no"}, {number: 2}, {number: 3}}
	got := unheld(rows, 4, map[int][]holder{2: {{}}, 3: {{}}, 9: {{}}})
	if want := 5; len(got) != want {
		t.Errorf("got %q, want %d problems", got, want)
	}
	for text, want := range map[string][]int{
		"// rules 18, 19": {18, 19}, "# rules 7": {7}, "rules 1": {1}, "the rules 1": nil, "rules 1 and 2": nil, "rules of 1": nil,
	} {
		if got := named("rules", text); !slices.Equal(got, want) {
			t.Errorf("%q names %v, want %v", text, got, want)
		}
	}
}

// unheld names the numbers up to last that have not exactly one line, and the numbers that have
// neither a test nor a reason, or both.
func unheld(rows []numbered, last int, held map[int][]holder) (problems []string) {
	lines := map[int]int{}
	for _, r := range rows {
		lines[r.number]++
		switch has := held[r.number]; {
		case r.without == "" && len(has) == 0:
			problems = append(problems, fmt.Sprintf("no test names %d, and no reason is given", r.number))
		case r.without != "" && len(has) > 0:
			problems = append(problems, fmt.Sprintf("%s names %d, which says why it has no test", has[0].name, r.number))
		}
	}
	for n := 1; n <= last; n++ {
		if lines[n] != 1 {
			problems = append(problems, fmt.Sprintf("%d has %d lines", n, lines[n]))
		}
	}
	for _, n := range slices.Sorted(maps.Keys(held)) {
		if lines[n] == 0 {
			problems = append(problems, fmt.Sprintf("%s names %d, which is not there", held[n][0].name, n))
		}
	}
	return problems
}

func readNumbered(t *testing.T, name string) (rows []numbered) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	section := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		if line == "" || line[0] == '#' {
			continue
		}
		fields := append(strings.Split(line, " | "), "")
		number, err := strconv.Atoi(fields[0])
		if err != nil || len(fields) < 4 {
			t.Fatalf("%s: %q is no number | level | text", name, line)
		}
		rows = append(rows, numbered{section, number, fields[1], fields[2], fields[3]})
	}
	return rows
}

// holders reads which tests name which numbers.
func holders(t *testing.T, word string) map[int][]holder {
	t.Helper()
	held := map[int][]holder{}
	add := func(h holder, text string) {
		for _, n := range named(word, text) {
			if !slices.Contains(held[n], h) {
				held[n] = append(held[n], h)
			}
		}
	}
	root := module.Path(t, "") + string(filepath.Separator)
	for _, dir := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(module.Path(t, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name := filepath.ToSlash(strings.TrimPrefix(path, root))
			switch {
			case strings.HasSuffix(name, ".txtar"):
				return eachHead(path, func(text string) { add(holder{name, strings.TrimSuffix(d.Name(), ".txtar")}, text) })
			case strings.HasSuffix(name, "_test.go"):
				return eachTestComment(path, func(test, text string) { add(holder{name, test}, text) })
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return held
}

func eachHead(path string, see func(text string)) error {
	data, err := os.ReadFile(path)
	head, _, _ := strings.Cut("\n"+string(data), "\n-- ")
	for line := range strings.Lines(head) {
		see(line)
	}
	return err
}

// eachTestComment gives every line of comment in a function of a test file or in its doc
// comment. Tests with build tags count as well.
func eachTestComment(path string, see func(test, text string)) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		for _, group := range file.Comments {
			if group != f.Doc && (group.Pos() < f.Pos() || group.End() > f.End()) {
				continue
			}
			for _, comment := range group.List {
				see(f.Name.Name, comment.Text)
			}
		}
	}
	return nil
}

var numbersLine = regexp.MustCompile(`^(?://|#)?\s*([a-z]+) (\d+(?:, \d+)*)$`)

func named(word, line string) (numbers []int) {
	m := numbersLine.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil || m[1] != word {
		return nil
	}
	for text := range strings.SplitSeq(m[2], ", ") {
		n, _ := strconv.Atoi(text)
		numbers = append(numbers, n)
	}
	return numbers
}

// cell returns a text as it is written into a table of Markdown.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func writeNumbered(b *strings.Builder, what string, rows []numbered, held map[int][]holder) {
	section := ""
	for _, r := range rows {
		if r.section != section {
			section = r.section
			fmt.Fprintf(b, "\n## %s\n\n| | | %s | tested by |\n| --- | --- | --- | --- |\n", section, what)
		}
		by := r.without
		if by == "" {
			var links []string
			for _, h := range held[r.number] {
				links = append(links, h.link())
			}
			by = strings.Join(links, ", ")
		}
		fmt.Fprintf(b, "| %d | %s | %s | %s |\n", r.number, r.level, cell(r.text), by)
	}
}
