// Command size counts what a reader of internal/ has to carry: tokens, packages, and the shapes that show code in
// pieces. It prints a table and judges nothing.
//
//	go run ./scripts/size          the counts
//	go run ./scripts/size -list    and what was counted, one place a line
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// maxSmall is the maximum number of lines of a small function.
const maxSmall = 8

// main prints the counts of the packages.
func main() {
	list := flag.Bool("list", false, "print each place that is counted")
	flag.Parse()
	packages, err := load()
	if err != nil {
		log.Fatal(err)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, c := range count(packages) {
		fmt.Fprintf(out, "%9d  %s\n", c.number, c.text)
		if !*list {
			continue
		}
		for _, place := range c.places {
			fmt.Fprintf(out, "           %s\n", place)
		}
	}
}

// A pkg is a package of the program, without its tests.
type pkg struct {
	path    string
	imports []string
	files   []*ast.File
	fset    *token.FileSet
	tokens  int
	lines   int
}

// load parses the packages below internal, except packages of tests.
func load() ([]*pkg, error) {
	out, err := exec.Command(
		"go",
		"list",
		"-f",
		"{{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles \" \"}} {{join .IgnoredGoFiles \" \"}}\t{{join .Imports \" \"}}",
		"./internal/...",
	).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []*pkg
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(fields[0], "mcpc/internal/tests") {
			continue
		}
		p := &pkg{path: strings.TrimPrefix(fields[0], "mcpc/"), imports: strings.Fields(fields[3]), fset: token.NewFileSet()}
		for _, name := range strings.Fields(fields[2]) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			if err := p.add(fields[1] + "/" + name); err != nil {
				return nil, err
			}
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// add parses a file, and counts its tokens and lines.
func (p *pkg) add(path string) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(p.fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	p.files = append(p.files, file)
	p.lines += bytes.Count(src, []byte{'\n'})
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile(path, set.Base(), len(src)), src, nil, 0)
	for {
		_, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return nil
		case tok == token.SEMICOLON && text == "\n": // inserted by the scanner
		default:
			p.tokens++
		}
	}
}

// A tally is one row of the table.
type tally struct {
	number int
	text   string
	places []string
}

// of returns the row for places.
func of(text string, places []string) tally {
	slices.Sort(places)
	return tally{len(places), text, places}
}

// count returns the rows of the table.
func count(packages []*pkg) []tally {
	var tokens, lines int
	var embedded, small []string
	importers := map[string][]string{}
	mentions := map[string]int{}
	for _, p := range packages {
		tokens += p.tokens
		lines += p.lines
		for _, imported := range p.imports {
			imported = strings.TrimPrefix(imported, "mcpc/")
			importers[imported] = append(importers[imported], p.path)
		}
		p.mention(mentions)
	}
	var single []string
	for _, p := range packages {
		if users := importers[p.path]; len(users) == 1 {
			single = append(single, p.path+" of "+users[0])
		}
		embedded = append(embedded, p.embeddedOnce()...)
		small = append(small, p.smallUsedOnce(mentions)...)
	}
	rows := []tally{
		{number: tokens, text: "tokens in internal/, without tests"},
		{number: lines, text: "lines"},
		{number: len(packages), text: "packages"},
		of("packages with one importer", single),
		of("structs that are embedded once and used nowhere else", embedded),
		of(fmt.Sprintf("functions of at most %d lines that are named once", maxSmall), small),
	}
	for _, t := range [][2]string{
		{"internal/connect", "Conn"},
		{"internal/tui", "model"},
		{"internal/cli/cmdutil", "Factory"},
	} {
		var free []string
		for _, p := range packages {
			if p.path == t[0] {
				free = append(free, p.freeFunctions(t[1])...)
			}
		}
		rows = append(rows, of("functions in "+t[0]+" that take *"+t[1]+" first", free))
	}
	return rows
}

// mention counts how often each name is written. An exported name is counted for all packages, an unexported one for
// its own: the key is then the path of the package and the name.
func (p *pkg) mention(count map[string]int) {
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				count[p.key(id.Name)]++
			}
			return true
		})
	}
}

// key returns the key of a name for mention.
func (p *pkg) key(name string) string {
	if ast.IsExported(name) {
		return name
	}
	return p.path + "." + name
}

// smallUsedOnce returns the functions and methods of at most maxSmall lines that are named in one place, their
// declaration aside.
func (p *pkg) smallUsedOnce(mentions map[string]int) (places []string) {
	for _, file := range p.files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil || mentions[p.key(f.Name.Name)] != 2 {
				continue
			}
			first := p.fset.Position(f.Pos())
			last := p.fset.Position(f.End())
			if last.Line-first.Line+1 <= maxSmall {
				places = append(places, p.path+"."+f.Name.Name)
			}
		}
	}
	return places
}

// freeFunctions returns the functions whose first parameter is a pointer to a type of their own package.
func (p *pkg) freeFunctions(name string) (places []string) {
	for _, file := range p.files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || len(f.Type.Params.List) == 0 {
				continue
			}
			pointer, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			if id, ok := pointer.X.(*ast.Ident); ok && id.Name == name {
				places = append(places, p.path+"."+f.Name.Name)
			}
		}
	}
	return places
}

// embeddedOnce returns the struct types that one other struct embeds, and that are otherwise named only by their
// methods and by literals.
func (p *pkg) embeddedOnce() (places []string) {
	structs := map[string]bool{}
	embeds := map[string]int{}
	uses := map[string]int{}
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if _, ok := n.Type.(*ast.StructType); ok {
					structs[n.Name.Name] = true
				}
			case *ast.StructType:
				for _, field := range n.Fields.List {
					if len(field.Names) == 0 {
						embeds[typeName(field.Type)]++
						uses[typeName(field.Type)]--
					}
				}
			case *ast.FuncDecl:
				if n.Recv != nil {
					uses[typeName(n.Recv.List[0].Type)]--
				}
			case *ast.CompositeLit:
				uses[typeName(n.Type)]--
			case *ast.KeyValueExpr:
				uses[typeName(n.Key)]-- // the name of an embedded field in a literal
			case *ast.SelectorExpr:
				uses[n.Sel.Name]-- // the name of an embedded field
			case *ast.Ident:
				uses[n.Name]++
			}
			return true
		})
	}
	for name := range structs {
		if embeds[name] == 1 && uses[name] <= 1 { // its declaration
			places = append(places, p.path+"."+name)
		}
	}
	return places
}

// typeName returns the name of a type that is an identifier, a pointer to one or an instance of one, else "".
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	}
	return ""
}
