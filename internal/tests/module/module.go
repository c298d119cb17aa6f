// Package module finds files of this module for tests that read them.
package module

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Root returns the directory of go.mod: the working directory, which go test sets to the directory
// of the package, or the nearest directory above it with a go.mod. Later calls return the result of
// the first call, so that a test can change its working directory.
var Root = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("neither the working directory nor one above it has a go.mod")
		}
		dir = parent
	}
})

// Path returns the absolute path of a file. name is relative to the root of the module, with
// slashes. "" is the root.
func Path(t testing.TB, name string) string {
	t.Helper()
	dir, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// Read returns the text of a file. name is relative to the root of the module.
func Read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
