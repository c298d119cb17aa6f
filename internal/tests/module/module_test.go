package module

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

func TestFilesAreNamedFromTheRoot(t *testing.T) {
	if text := Read(t, "go.mod"); !strings.HasPrefix(text, "module mcpc\n") {
		t.Errorf("go.mod is %.40q", text)
	}
	names := map[string]bool{}
	EachFile(t, func(name string, _ *token.FileSet, _ *ast.File) { names[name] = true })
	for name, want := range map[string]bool{
		"cmd/mcpc/main.go": true, "internal/wire/message.go": true,
		"internal/tests/module/module.go": false, "cmd/mcpc/main_test.go": false,
	} {
		if names[name] != want {
			t.Errorf("that %s is a file of the program is %t", name, names[name])
		}
	}
}
