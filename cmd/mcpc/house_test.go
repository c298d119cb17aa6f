package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/client"
)

// The house: which room may use which, where each third-party module comes in,
// and what stands in one place only. docs/architecture.md says why.

// mayImport lists what a room may import beside internal/wire.
var mayImport = map[string][]string{
	"mcpc/internal/web": {"mcpc/internal/render", "mcpc/internal/trace"},
	"mcpc/internal/tui": {"mcpc/internal/render", "mcpc/internal/trace"},
}

// neverInWire: wire has no sockets, no clock and no printing.
var neverInWire = []string{"net", "net/http", "os", "os/exec", "log", "log/slog"}

// mainOnly is what stands in main.go and nowhere else.
var mainOnly = []string{"os.Exit", "os.Args", "os.Getenv", "os.LookupEnv", "os.Environ", "time.Now"}

// eraFiles are the only files that may name an era or a revision.
var eraFiles = []string{
	"internal/client/era.go", "internal/client/legacy.go", "internal/client/modern.go",
	"internal/client/listen_legacy.go", "internal/client/listen_modern.go",
	"internal/client/task_legacy.go", "internal/client/task_modern.go",
	"internal/client/auth/era.go",
	"internal/client/negotiate.go", "internal/demo/era.go", "internal/serve/manners.go",
}

const (
	longestFunction = 60
	longestFile     = 420
)

type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

// packages are those of the module, without their tests.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "mcpc/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 8 {
		t.Fatalf("only %d packages found", len(all))
	}
	return all
}

func TestRoomsFormAStar(t *testing.T) {
	for _, v := range starViolations(packages(t)) {
		t.Error(v)
	}
}

func starViolations(all []listed) (violations []string) {
	for _, p := range all {
		if p.ImportPath == "mcpc/cmd/mcpc" {
			continue
		}
		for _, imported := range p.Imports {
			own := strings.HasPrefix(imported, "mcpc/")
			allowed := imported == "mcpc/internal/wire" || slices.Contains(mayImport[p.ImportPath], imported)
			if own && (!allowed || p.ImportPath == "mcpc/internal/wire") {
				violations = append(violations, p.ImportPath+" imports "+imported+": rooms import wire, cmd/mcpc imports rooms")
			}
			if p.ImportPath == "mcpc/internal/wire" && slices.Contains(neverInWire, imported) {
				violations = append(violations, "wire imports "+imported+": it knows no sockets, no clock, no printing")
			}
		}
	}
	return violations
}

func TestEveryModuleHasOneDoor(t *testing.T) {
	for _, v := range doorViolations(packages(t)) {
		t.Error(v)
	}
}

func doorViolations(all []listed) (violations []string) {
	doors := map[string]string{}
	for _, p := range all {
		for _, imported := range p.Imports {
			module := moduleOf(imported)
			if module == "" {
				continue
			}
			if door := doors[module]; door != "" && door != p.ImportPath {
				violations = append(violations, module+" has two doors: "+door+" and "+p.ImportPath)
			}
			doors[module] = p.ImportPath
		}
	}
	return violations
}

// moduleOf gives the first parts of a third-party import path, or "". cobra and
// its flags are one thing; what lies in golang.org/x/net are several. golang.org/x/sys
// has what syscall lacks, and is used where syscall is.
func moduleOf(path string) string {
	host, _, _ := strings.Cut(path, "/")
	if !strings.Contains(host, ".") || strings.HasPrefix(path, "golang.org/x/sys/") {
		return ""
	}
	parts := strings.Split(path, "/")
	if strings.HasPrefix(path, "golang.org/x/net/") {
		return path
	}
	return strings.Join(parts[:min(3, len(parts))], "/")
}

// eachFile parses every file of the module that is no test.
func eachFile(t *testing.T, look func(name string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			absolute, err := filepath.Abs(root)
			if err != nil {
				t.Fatal(err)
			}
			relative, err := filepath.Rel(absolute, path)
			if err != nil {
				t.Fatal(err)
			}
			look(filepath.ToSlash(relative), fset, file)
		}
	}
}

func TestTheWorldIsTouchedInMainOnly(t *testing.T) {
	eachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		if name == "cmd/mcpc/main.go" {
			return
		}
		for _, use := range worldUses(file) {
			t.Errorf("%s uses %s, which stands in main.go only", name, use)
		}
	})
}

func worldUses(file *ast.File) (uses []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(mainOnly, pkg.Name+"."+sel.Sel.Name) {
				uses = append(uses, pkg.Name+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return uses
}

func TestErasAreNamedInEraFilesOnly(t *testing.T) {
	eachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		if slices.Contains(eraFiles, name) {
			return
		}
		for _, word := range eraWords(file) {
			t.Errorf("%s says %s, which stands in the era files only", name, word)
		}
	})
}

func eraWords(file *ast.File) (words []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if lower := strings.ToLower(n.Name); lower == "legacy" || lower == "modern" {
				words = append(words, n.Name)
			}
		case *ast.BasicLit:
			for _, revision := range client.Revisions() {
				if n.Kind == token.STRING && strings.Contains(n.Value, revision) {
					words = append(words, n.Value)
				}
			}
		}
		return true
	})
	return words
}

func TestFunctionsAndFilesAreShort(t *testing.T) {
	eachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		if lines := fset.Position(file.End()).Line; lines > longestFile {
			t.Errorf("%s has %d lines, more than %d", name, lines, longestFile)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if lines := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1; lines > longestFunction {
				t.Errorf("%s: %s has %d lines, more than %d", name, f.Name.Name, lines, longestFunction)
			}
		}
	})
}

// What a server calls itself is shown and remembered, and nothing depends on it: who
// else would read it would decide by it.
//
// rules 121
func TestServerInfoIsOnlyShown(t *testing.T) {
	shows := []string{"cmd/mcpc/answering.go", "cmd/mcpc/codegen.go", "cmd/mcpc/conversation.go", "cmd/mcpc/hide.go", "cmd/mcpc/info.go", "cmd/mcpc/init.go", "cmd/mcpc/responder.go", "cmd/mcpc/sessions.go",
		"internal/client/era.go", "internal/client/legacy.go", "internal/client/modern.go", "internal/state/session.go"}
	eachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		uses, judges := serverInfoUses(file)
		if uses && !slices.Contains(shows, name) {
			t.Errorf("%s uses what a server calls itself", name)
		}
		if judges {
			t.Errorf("%s compares what a server calls itself", name)
		}
	})
}

// serverInfoUses says whether a file uses a server's info, and whether it compares it
// with anything but nil.
func serverInfoUses(file *ast.File) (uses, judges bool) {
	names := func(n ast.Node) (found bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && strings.EqualFold(id.Name, "serverInfo")
			return true
		})
		return found
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) && (names(b.X) || names(b.Y)) {
			id, ok := b.Y.(*ast.Ident)
			judges = judges || !ok || id.Name != "nil"
		}
		return true
	})
	return names(file), judges
}

// What every start would pay for is made when it is first asked for.
func TestNoRegularExpressionIsCompiledAtStart(t *testing.T) {
	eachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		if n := compiledAtStart(file); n > 0 {
			t.Errorf("%s compiles %d regular expressions at each start: sync.OnceValue", name, n)
		}
	})
}

func compiledAtStart(file *ast.File) (n int) {
	for _, decl := range file.Decls {
		if vars, ok := decl.(*ast.GenDecl); ok {
			ast.Inspect(vars, func(node ast.Node) bool {
				if sel, ok := node.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "MustCompile") {
					n++
				}
				_, later := node.(*ast.FuncLit)
				return !later
			})
		}
	}
	return n
}

// The rules above must be able to fail.
func TestTheHouseRulesCanFail(t *testing.T) {
	star := starViolations([]listed{
		{ImportPath: "mcpc/internal/render", Imports: []string{"mcpc/internal/client"}},
		{ImportPath: "mcpc/internal/wire", Imports: []string{"net/http", "mcpc/internal/state"}},
		{ImportPath: "mcpc/cmd/mcpc", Imports: []string{"mcpc/internal/client"}},
	})
	if len(star) != 3 {
		t.Errorf("star: got %q, want three violations", star)
	}
	doors := doorViolations([]listed{
		{ImportPath: "mcpc/internal/render", Imports: []string{"github.com/a/b/v2/c"}},
		{ImportPath: "mcpc/internal/state", Imports: []string{"github.com/a/b"}},
	})
	if len(doors) != 1 {
		t.Errorf("doors: got %q, want one violation", doors)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
var modern = "2025-06-18"
var word, later = regexp.MustCompile("x"), sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("y") })
func f() { os.Exit(time.Now()) }`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := worldUses(file); len(got) != 2 {
		t.Errorf("world: got %q, want two uses", got)
	}
	if got := compiledAtStart(file); got != 1 {
		t.Errorf("compiled at start: got %d, want one", got)
	}
	if got := eraWords(file); len(got) != 2 {
		t.Errorf("eras: got %q, want two words", got)
	}
	file, err = parser.ParseFile(token.NewFileSet(), "x.go", `package x
func f() bool { return info.ServerInfo != nil && name(info.ServerInfo) == "x" }`, parser.SkipObjectResolution)
	if uses, judges := serverInfoUses(file); err != nil || !uses || !judges {
		t.Errorf("server info: got %t %t %v, want a use and a comparison", uses, judges, err)
	}
}
