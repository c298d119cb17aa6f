package house

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mcpc/internal/tests/module"
)

// maxColumns is the length of the longest line of a Go file; a tab is one column.
const maxColumns = 120

// stateVerbs begin comments that say what a function is in place of what it does.
var stateVerbs = []string{"is", "are", "was", "were", "has", "have"}

func TestCommentsBeginWithNameAndVerb(t *testing.T) {
	n := 0
	module.EachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		for _, decl := range file.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok || function.Doc.Text() == "" {
				continue
			}
			n++
			if fault := commentFault(function.Name.Name, function.Doc.Text()); fault != "" {
				t.Errorf("%s:%d: %s", name, fset.Position(function.Pos()).Line, fault)
			}
		}
	})
	if n < 3000 {
		t.Errorf("only %d comments were read", n)
	}
}

// commentFault returns what is wrong with the first words of a function's comment, or "".
func commentFault(name, comment string) string {
	words := strings.Fields(comment)
	if words[0] != name {
		return "the comment of " + name + " begins with " + words[0] + ": it begins with the name and a verb"
	}
	if len(words) > 1 && slices.Contains(stateVerbs, words[1]) {
		return "the comment of " + name + " says what it " + words[1] + ": begin with what it does (returns, reads, sends)"
	}
	return ""
}

func TestCommentFaults(t *testing.T) {
	for comment, want := range map[string]bool{
		"size returns the number of bytes.":   false,
		"size is the number of bytes.":        true,
		"size has two cases.":                 true,
		"Returns the number of bytes.":        true,
		"size":                                false,
		"sizes returns the number of bytes.":  true,
		"size island: returns a number of km": false,
	} {
		if got := commentFault("size", comment) != ""; got != want {
			t.Errorf("%q: fault %v, want %v", comment, got, want)
		}
	}
}

// Lines of raw strings are not counted: they are texts of other formats.
func TestLinesHaveAtMost120Columns(t *testing.T) {
	module.EachFile(t, func(name string, fset *token.FileSet, file *ast.File) {
		raw := rawLines(fset, file)
		for i, line := range strings.Split(module.Read(t, name), "\n") {
			if columns := utf8.RuneCountInString(line); columns > maxColumns && !raw[i+1] {
				t.Errorf("%s:%d has %d columns", name, i+1, columns)
			}
		}
	})
}

// rawLines returns the numbers of the lines of a file that have a part of a raw string.
func rawLines(fset *token.FileSet, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Value[0] == '`' {
			for line := fset.Position(lit.Pos()).Line; line <= fset.Position(lit.End()).Line; line++ {
				lines[line] = true
			}
		}
		return true
	})
	return lines
}
