package reload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// write writes a file below dir, and the directories above it.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// watch watches files below dir. The notes are sent to a channel.
func watch(t *testing.T, dir string, patterns ...string) (*Files, chan string) {
	t.Helper()
	notes := make(chan string, 100)
	f, err := WatchFiles(dir, patterns, func(text string) { notes <- text })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, notes
}

func TestPatternsSelectFiles(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ pattern, files, others string }{
		{"*.ts", "a.ts", "a.js a/b.ts a.tsx"},
		{"src/**/*.ts", "src/a.ts src/b/c/a.ts", "a.ts src2/a.ts src/a.js"},
		{"src", "src/a.ts src/b/c", "srcs/a"},
		{"src/", "src/a", "a"},
		{"./x.toml", "x.toml", "y/x.toml"},
		{"**/*.{ts,js}", "a.ts b/a.js", "a.py"},
		{"a[0-9]?.go", "a1x.go", "ax.go axx.go"},
		{"a[!0-9].go", "ax.go", "a1.go"},
		{"src/*/x", "src/a/x", "src/x src/a/b/x"},
		{"src/**", "src/a src/b/c", "a"},
		{"../*.c", "../a.c", "a.c"},
		{filepath.Join(dir, "abs.c"), "abs.c", "b.c"},
	} {
		p, err := parsePattern(dir, c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for want, names := range map[bool]string{true: c.files, false: c.others} {
			for name := range strings.FieldsSeq(names) {
				path := filepath.Join(dir, name)
				if p.regexp.MatchString(filepath.ToSlash(path)) != want {
					t.Errorf("%s selects %s: %v", c.pattern, name, !want)
				}
				if want && !p.contains(filepath.Dir(path)) && path != p.base {
					t.Errorf("%s does not look for %s", c.pattern, name)
				}
			}
		}
	}
	for _, invalid := range []string{"[a", "a/{b,c"} {
		if _, err := parsePattern(dir, invalid); err == nil {
			t.Errorf("%s is accepted", invalid)
		}
	}
}

func TestIgnoredFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".git/HEAD", "")
	write(t, dir, ".gitignore", "# comment\n*.log\n/dist/\nbuild\n!keep.log\ndoc/*.txt\n[\n")
	write(t, dir, "src/.gitignore", "local\n")
	var g ignoreRules
	g.loadAbove(dir)
	g.load(filepath.Join(dir, "src"))
	for name, want := range map[string]bool{
		"a.log": true, "src/a.log": true, "keep.log": false, "dist/": true, "src/dist/": false, "dist": false, "build": true,
		"src/build/": true, "doc/a.txt": true, "doc/b/a.txt": false, "src/local": true, "local": false, ".git/": true,
		"src/node_modules/": true, "node_modules": false, "a.ts": false,
	} {
		path, isDir := strings.CutSuffix(name, "/")
		if got := g.ignores(filepath.Join(dir, path), isDir); got != want {
			t.Errorf("%s is ignored: %v", name, got)
		}
	}
}

func TestChangesAreReported(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".gitignore", "ignored/\n*.tmp\n")
	write(t, dir, "src/a.ts", "")
	write(t, dir, "src/ignored/a.ts", "")
	write(t, dir, "src/node_modules/a.ts", "")
	f, notes := watch(t, dir, "src/**/*.ts")
	for i, change := range []func(){
		func() { write(t, dir, "src/a.ts", "1") },
		func() { write(t, dir, "src/new/deep/b.ts", "1") }, // in a new directory
		func() { write(t, dir, "src/new/deep/b.ts", "2") },
		func() { // as editors save
			write(t, dir, "src/a.ts.swp", "3")
			if err := os.Rename(filepath.Join(dir, "src/a.ts.swp"), filepath.Join(dir, "src/a.ts")); err != nil {
				t.Fatal(err)
			}
		},
		func() { _ = os.Remove(filepath.Join(dir, "src/a.ts")) },
	} {
		change()
		receive(t, f.Changed, fmt.Sprint("change ", i))
	}
	write(t, dir, "src/ignored/a.ts", "1")
	write(t, dir, "src/node_modules/a.ts", "1")
	write(t, dir, "src/a.js", "1")
	write(t, dir, "a.ts", "1")
	if err := os.Chmod(filepath.Join(dir, "src/new/deep/b.ts"), 0o600); err != nil {
		t.Fatal(err)
	}
	if hasChanged(t, f) {
		t.Error("a file that is not watched has changed")
	}
	if len(notes) > 0 {
		t.Error(<-notes)
	}
}

func TestFilesMayComeLater(t *testing.T) {
	dir := t.TempDir()
	f, notes := watch(t, dir, "src/lib/*.ts", "*.go")
	for _, want := range []string{`"src/lib/*.ts" fits no file yet`, `"*.go" fits no file yet`} {
		if got := receive(t, notes, "note"); !strings.Contains(got, want) {
			t.Error(got)
		}
	}
	write(t, dir, "src/lib/a.ts", "")
	receive(t, f.Changed, "change")
}

func TestDeletedDirectoryIsWatchedAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "src/a.ts", "")
	f, notes := watch(t, dir, "src")
	if err := os.RemoveAll(filepath.Join(dir, "src")); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, notes, "note"); got != filepath.Join(dir, "src")+" was deleted; its files are watched again when it is back" {
		t.Error(got)
	}
	receive(t, f.Changed, "change")
	write(t, dir, "src/a.ts", "")
	receive(t, f.Changed, "change")
	write(t, dir, "src/a.ts", "1")
	receive(t, f.Changed, "change")
}

func TestManyChangesAreOne(t *testing.T) {
	dir := t.TempDir()
	f, _ := watch(t, dir, "**")
	for i := range 10_000 {
		write(t, dir, fmt.Sprintf("d%d/f%d", i%20, i), "x")
	}
	n := 0
	for receive(t, f.Changed, "change"); ; n++ {
		if !hasChanged(t, f) {
			break
		}
	}
	if n > 20 { // a slow machine pauses between files
		t.Errorf("%d changes", n+1)
	}
}

func TestRebuild(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	changed := make(chan struct{})
	results := make(chan bool)
	built := Rebuild(ctx, changed, func(context.Context) bool { return <-results })
	for _, ok := range []bool{true, false, true} {
		changed <- struct{}{}
		results <- ok
		if ok {
			receive(t, built, "build")
		}
	}
	changed <- struct{}{}
	results <- false
	changed <- struct{}{} // the failed build has ended
	if len(built) > 0 {
		t.Error("a failed build is reported")
	}
	results <- false
}

// A build that writes watched files is not followed by builds without end.
func TestSameContentIsNoChange(t *testing.T) {
	dir := t.TempDir()
	f, _ := watch(t, dir, "*.js")
	for _, text := range []string{"1", "2"} {
		write(t, dir, "a.js", text)
		receive(t, f.Changed, "change to "+text)
	}
	write(t, dir, "a.js", "2")
	if hasChanged(t, f) {
		t.Error("the same content is a change")
	}
	write(t, dir, "a.js", "")
	receive(t, f.Changed, "change")
}

// hasChanged waits until a change would have been reported, and reports whether one was.
func hasChanged(t *testing.T, f *Files) bool {
	t.Helper()
	select {
	case <-f.Changed:
		return true
	case <-time.After(3 * quietTime):
		return false
	}
}
