package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"mcpc/internal/tests/module"
)

var (
	fencedCode = regexp.MustCompile("(?ms)^```.*?^```$")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	target     = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"`)
)

// Each relative link of a page leads to a file that exists, and to a heading of it.
func TestLinksOfPages(t *testing.T) {
	n := 0
	for _, file := range documents(t) {
		page := relativeToModule(t, file)
		for _, link := range linksIn(readPage(t, page)) {
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			n++
			if problem := followLink(t, page, link); problem != "" {
				t.Errorf("%s: %s", page, problem)
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d links were followed", n)
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	for link, want := range map[string]bool{
		"calls.md": true, "calls.md#arguments": true, "#using-mcpc": true, "../README.md": true, "fleet/": true,
		"call.md": false, "calls.md#argument": false, "#using": false, "README.md#documentation": true,
	} {
		if problem := followLink(t, "docs/README.md", link); (problem == "") != want {
			t.Errorf("%s: %q", link, problem)
		}
	}
	text := "# One `x`\n[a](b.md) `[c](d.md)`\n```sh\n# Two\n[e](f.md)\n```\n## [Three](t.md)'s way\n## One x\n"
	if got := linksIn(text); !slices.Equal(got, []string{"b.md", "t.md"}) {
		t.Errorf("links: %q", got)
	}
	if got := anchorsIn(text); !slices.Equal(got, []string{"one-x", "threes-way", "one-x-1"}) {
		t.Errorf("anchors: %q", got)
	}
}

// docs/moved.md leads from every page and heading of testdata/old-pages.txt, which are the pages before they
// became a tree, to a page and a heading that exist. A heading without a row has the same anchor on the page
// of its page's row, and a page without a row has not moved.
func TestMovedPagesLeadSomewhere(t *testing.T) {
	moved := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| \\[([^\\]]+)\\]\\(([^)]+)\\) \\|$")
	for _, m := range row.FindAllStringSubmatch(readPage(t, "docs/moved.md"), -1) {
		if m[2] != m[3] {
			t.Errorf("the row of %s shows %s and links to %s", m[1], m[2], m[3])
		}
		moved[m[1]] = m[3]
	}
	old := strings.Fields(readPage(t, "internal/tests/docs/testdata/old-pages.txt"))
	if len(old) < 250 || len(moved) < 20 {
		t.Fatalf("%d old places, %d rows", len(old), len(moved))
	}
	for _, place := range old {
		to, ok := moved[place]
		if !ok {
			page, anchor, hasAnchor := strings.Cut(place, "#")
			to = page
			if row := moved[page]; row != "" {
				to = row
			}
			if hasAnchor {
				to, _, _ = strings.Cut(to, "#")
				to += "#" + anchor
			}
		}
		if problem := followLink(t, "docs/moved.md", to); problem != "" {
			t.Errorf("%s: %s", place, problem)
		}
	}
	for place := range moved {
		if !slices.Contains(old, place) {
			t.Errorf("docs/moved.md has %s, which is not in testdata/old-pages.txt", place)
		}
	}
}

// Help texts, hints, comments and scripts name pages that exist.
func TestPagesNamedInSourcesExist(t *testing.T) {
	name := regexp.MustCompile(`\bdocs/[a-z/-]+\.md\b`)
	foreign := []string{"check_programs_test.go", "convention.json"} // They name pages of other repositories.
	n := 0
	for _, dir := range []string{"cmd", "internal", "scripts", "docs"} {
		err := filepath.WalkDir(module.Path(t, dir), func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") {
					return filepath.SkipDir
				}
				return nil
			}
			if !d.Type().IsRegular() || slices.Contains(foreign, d.Name()) || filepath.Ext(file) == ".png" {
				return nil
			}
			text, err := os.ReadFile(file)
			for _, page := range name.FindAllString(string(text), -1) {
				n++
				if _, err := os.Stat(module.Path(t, page)); err != nil {
					t.Errorf("%s names %s: %v", file, page, err)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 40 {
		t.Errorf("only %d names were found", n)
	}
}

// followLink returns what is wrong with a relative link of a page, "" if nothing is.
func followLink(t *testing.T, page, link string) string {
	t.Helper()
	file, anchor, _ := strings.Cut(link, "#")
	to := page
	if file != "" {
		to = path.Join(path.Dir(page), file)
	}
	if _, err := os.Stat(module.Path(t, to)); err != nil {
		return fmt.Sprintf("the link %s: %v", link, err)
	}
	if anchor != "" && !slices.Contains(anchorsIn(readPage(t, to)), anchor) {
		return fmt.Sprintf("the link %s: %s has no such heading", link, to)
	}
	return ""
}

// linksIn returns the targets of the links and pictures in a page, without those in code.
func linksIn(text string) []string {
	text = inlineCode.ReplaceAllString(fencedCode.ReplaceAllString(text, ""), "")
	var links []string
	for _, m := range target.FindAllStringSubmatch(text, -1) {
		links = append(links, m[1]+m[2])
	}
	return links
}

// anchorsIn returns the anchors of a page's headings, as GitHub makes them.
func anchorsIn(text string) []string {
	var anchors []string
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fencedCode.ReplaceAllString(text, ""), -1) {
		words := strings.ToLower(linkText.ReplaceAllString(m[1], "$1"))
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return r
			default:
				return -1
			}
		}, words)
		repeated := seen[anchor]
		seen[anchor]++
		if repeated > 0 {
			anchor = fmt.Sprintf("%s-%d", anchor, repeated)
		}
		anchors = append(anchors, anchor)
	}
	return anchors
}

func relativeToModule(t *testing.T, file string) string {
	t.Helper()
	name, err := filepath.Rel(module.Path(t, ""), file)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(name)
}
