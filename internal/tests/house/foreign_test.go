package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	goload "golang.org/x/tools/go/packages"

	"mcpc/internal/tests/module"
)

// The program and its tests compile for systems on which scripts/check.sh runs nothing. Types
// are checked from source, without the bodies of functions outside the module: compiling
// everything takes twenty times as long. Windows is vetted, and its tests run under Wine.
func TestCompilesForOtherSystems(t *testing.T) {
	root := module.Path(t, "")
	for _, system := range []string{"darwin/arm64", "freebsd/amd64"} {
		goos, goarch, _ := strings.Cut(system, "/")
		for _, text := range compileErrors(t, root, goos, goarch) {
			t.Errorf("%s: %s", system, text)
		}
	}
}

// compileErrors returns the errors of all packages of the module for one system.
func compileErrors(t *testing.T, root, goos, goarch string) (errors []string) {
	t.Helper()
	loaded, err := goload.Load(&goload.Config{
		Mode: goload.NeedName | goload.NeedFiles | goload.NeedImports | goload.NeedDeps |
			goload.NeedTypes | goload.NeedSyntax | goload.NeedTypesSizes | goload.NeedModule,
		Dir:   root,
		Env:   append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		Tests: true,
		ParseFile: func(fset *token.FileSet, name string, text []byte) (*ast.File, error) {
			file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, root+string(filepath.Separator)) {
				dropBodies(file)
			}
			return file, err
		},
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	goload.Visit(loaded, nil, func(p *goload.Package) {
		for _, e := range p.Errors {
			if e.Kind != goload.TypeError || strings.HasPrefix(e.Pos, root) { // not that a body is missing
				errors = append(errors, e.Error())
			}
		}
	})
	if len(loaded) < 20 {
		t.Fatalf("%d packages were loaded", len(loaded))
	}
	return errors
}

// dropBodies removes the bodies of the functions of a file.
func dropBodies(file *ast.File) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
}
