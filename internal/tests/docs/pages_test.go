package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/tests/module"
)

// The walk in docs/dev/architecture.md names files; they must be there.
func TestArchitectureNamesRealFiles(t *testing.T) {
	text, err := os.ReadFile(module.Path(t, "docs/dev/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`((?:cmd|internal)/[a-z0-9_/.]+)`").FindAllStringSubmatch(string(text), -1)
	if len(names) < 15 {
		t.Fatalf("only %d file names found", len(names))
	}
	for _, name := range names {
		if _, err := os.Stat(module.Path(t, name[1])); err != nil {
			t.Errorf("docs/dev/architecture.md names %s: %v", name[1], err)
		}
	}
}

// Every page is in the index, and every page of the index exists.
func TestDocumentedPagesStandInTheIndex(t *testing.T) {
	index, err := os.ReadFile(module.Path(t, "docs/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, link := range regexp.MustCompile(`\]\(([^)]+\.md)\)`).FindAllStringSubmatch(string(index), -1) {
		listed[link[1]] = true
		if _, err := os.Stat(module.Path(t, "docs/"+link[1])); err != nil {
			t.Errorf("docs/README.md names %s: %v", link[1], err)
		}
	}
	for _, page := range documents(t) {
		name, err := filepath.Rel(module.Path(t, "docs"), page)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.ToSlash(name)
		if !strings.HasPrefix(name, "../") && name != "README.md" && !listed[name] {
			t.Errorf("docs/%s does not stand in docs/README.md", name)
		}
	}
}

func documents(t *testing.T) []string {
	t.Helper()
	var docs []string
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(module.Path(t, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no documents match %s: %v", pattern, err)
		}
		docs = append(docs, found...)
	}
	for _, name := range []string{"README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"} {
		docs = append(docs, module.Path(t, name))
	}
	return docs
}
