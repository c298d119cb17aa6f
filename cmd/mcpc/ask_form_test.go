package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"mcpc/internal/cli/console"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/connect/host"
	"mcpc/internal/question"
	"mcpc/internal/render/term"
)

var updateForms = flag.Bool("forms", false, "write the forms of testdata/forms anew")

// Each file of testdata/forms is a form as a person meets it: params, what is
// typed (^D is Ctrl-D), and what the terminal shows and the server gets.
func TestFormsAtATerminal(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "forms", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatal("no forms", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { fillFile(t, name) })
	}
}

func fillFile(t *testing.T, name string) {
	archive, err := txtar.ParseFile(name)
	if err != nil || len(archive.Files) < 2 {
		t.Fatal("params and typed are missing", err)
	}
	form, err := question.ParseForm(archive.Files[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	typed := strings.Split(strings.TrimRight(string(archive.Files[1].Data), "\n"), "\n")
	var out bytes.Buffer
	d := &console.Dialog{Out: &out, Line: term.Line, Next: func() (string, error) {
		if len(typed) == 0 {
			return "", errors.New("nothing more is typed")
		}
		line := typed[0]
		typed = typed[1:]
		if line == "^D" {
			return "", io.EOF
		}
		out.WriteString(line + "\n")
		return line, nil
	}}
	r := &elicit.Answerer{A: &host.Env{Shared: new(host.Shared)}}
	f := console.Form{Dialog: d, Form: form, Asker: "server\x1b[2J", Broken: r.Broken}
	answer := f.Run()
	if len(typed) > 0 {
		t.Errorf("nobody asked for %q", typed)
	}
	archive.Files = append(archive.Files[:2:2], txtar.File{Name: "screen", Data: out.Bytes()}, txtar.File{Name: "answer", Data: append(answer, '\n')})
	got := txtar.Format(archive)
	if *updateForms {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
