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
// of the test's package, or the nearest one above it. The first call decides, so that a test can
// change its working directory after it.
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

// Path returns the absolute path of a file that is named as from the root of the module, with
// slashes. "" names the root.
func Path(t testing.TB, name string) string {
	t.Helper()
	dir, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

// Read returns the text of a file that is named as from the root of the module.
func Read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
