package module

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A Package is a package of this module without its tests.
type Package struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

// Packages returns all packages of this module, as go list lists them for this system.
func Packages(t testing.TB) []Package {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "mcpc/...")
	cmd.Dir = Path(t, "")
	var words strings.Builder
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &words)
	}
	var all []Package
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p Package
		err := d.Decode(&p)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 100 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}

// IsForTests reports whether only tests use the package.
func (p Package) IsForTests() bool { return strings.HasPrefix(p.ImportPath, "mcpc/internal/tests/") }

// EachFile parses each Go file of the program, without tests and packages for tests. see receives
// the file name relative to the root of the module, with slashes.
func EachFile(t testing.TB, visit func(name string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	root := Path(t, "")
	for _, p := range Packages(t) {
		if p.IsForTests() {
			continue
		}
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			relative, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			visit(filepath.ToSlash(relative), fset, file)
		}
	}
}
