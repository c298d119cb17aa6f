package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// shipped are the files of the page that are in the program.
func shipped(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS("page"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".html", ".js", ".mjs", ".css", ".svg"}, path.Ext(name)) {
			return err
		}
		files[name], err = os.ReadFile(path.Join("page", name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestVendoredFilesAreThoseOfTheRegistry(t *testing.T) {
	list, err := os.ReadFile("page/vendor/README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for name, data := range shipped(t) {
		name, ok := strings.CutPrefix(name, "vendor/")
		if !ok {
			continue
		}
		found++
		if name == "hooks.mjs" {
			data = bytes.Replace(data, []byte(`from"./preact.mjs"`), []byte(`from"preact"`), 1)
		}
		sum := sha256.Sum256(data)
		if !strings.Contains(string(list), "| `"+name+"` |") || !strings.Contains(string(list), hex.EncodeToString(sum[:])) {
			t.Errorf("%s has the hash %x, which vendor/README.md does not state", name, sum)
		}
	}
	if found != 3 {
		t.Errorf("there are %d vendored files, want 3", found)
	}
	for _, name := range []string{"preact.LICENSE", "htm.LICENSE"} {
		if _, err := os.Stat("page/vendor/" + name); err != nil {
			t.Error(err)
		}
	}
}

// The limits of the page's size: the total of the files that a browser loads for it, plain and each gzipped.
const (
	maxPageBytes  = 200_000
	maxPageZipped = 70_000
)

func TestPageIsSmall(t *testing.T) {
	var all, zipped int
	s := &Server{Options: Options{Assets: assets()}}
	for _, name := range loadedFiles(t) {
		_, data := s.asset("/" + name)
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		_, _ = w.Write(data)
		_ = w.Close()
		all += len(data)
		zipped += b.Len()
	}
	t.Logf("%d bytes, %d gzipped", all, zipped)
	if all > maxPageBytes || zipped > maxPageZipped {
		t.Errorf("the page has %d bytes (at most %d), %d gzipped (at most %d)", all, maxPageBytes, zipped, maxPageZipped)
	}
}

// loadedFiles returns the files that a browser loads for the page: the document, its style and icon, its script with all
// modules that the script imports, and the panel that it loads with the first app. Pages of their own, as the frame of an app
// and a bundle, are no part.
func loadedFiles(t *testing.T) []string {
	t.Helper()
	files := shipped(t)
	loaded := []string{"index.html", "page.css", "icon.svg", "live.js", "app.js"}
	for i := 0; i < len(loaded); i++ {
		for _, groups := range modulePatterns().imports.FindAllStringSubmatch(string(files[loaded[i]]), -1) {
			if name := path.Join(path.Dir(loaded[i]), groups[4]); !slices.Contains(loaded, name) {
				loaded = append(loaded, name)
			}
		}
	}
	if len(loaded) < 15 {
		t.Errorf("the page loads only %q", loaded)
	}
	return loaded
}

// TestPageIsSentWithoutComments holds: comment lines and indentation are not sent, and each line keeps its number.
func TestPageIsSentWithoutComments(t *testing.T) {
	s := &Server{Options: Options{Assets: assets()}}
	_, sent := s.asset("/try.js")
	written, sentLines := strings.Split(string(shipped(t)["try.js"]), "\n"), strings.Split(string(sent), "\n")
	if len(sentLines) != len(written) {
		t.Fatalf("%d lines are sent, %d are written", len(sentLines), len(written))
	}
	for i, line := range written {
		want := strings.TrimLeft(line, " \t")
		if strings.HasPrefix(want, "//") {
			want = ""
		}
		if sentLines[i] != want {
			t.Errorf("line %d is %q, want %q", i+1, sentLines[i], want)
		}
	}
}

// TestPageMakesNoMarkupOfText looks for what would let a text become markup, code or style.
func TestPageMakesNoMarkupOfText(t *testing.T) {
	for name, data := range shipped(t) {
		if strings.HasPrefix(name, "vendor/") || name == "icon.svg" {
			continue
		}
		for _, banned := range []string{
			"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "createContextualFragment", "eval(", "Function(", "style=", "javascript:",
			"srcdoc", "<iframe", "<object", "<embed", "import(", "createPolicy", "localStorage", "@import", "url(http", "src=\"http", "href=\"http",
		} {
			// The constant module is no text of a server.
			if strings.Contains(strings.ReplaceAll(string(data), "import('./app.js')", ""), banned) {
				t.Errorf("%s has %q", name, banned)
			}
		}
	}
}
