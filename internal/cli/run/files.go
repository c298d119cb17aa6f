package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/host"
	"mcpc/internal/saved"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
	"mcpc/internal/yaml"
)

// A runFile is a file of saved calls, and which of its steps are to be taken.
type runFile struct {
	saved.File
	path     string
	doc      yaml.Document
	text     string
	selected map[int]bool
}

// savedFiles are the files that are meant: those that are named, and of a folder all
// that are called so.
func findFiles(paths []string) (all []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, usage.New(
				path+": "+usage.Bare(err).Error(),
				wire.Run("run")+" takes files of saved calls, or folders with *.mcpc.yaml",
			)
		}
		if !info.IsDir() {
			all = append(all, path)
			continue
		}
		found, err := findInFolder(path)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, usage.New(
				"no *.mcpc.yaml in "+path,
				wire.Run("export last --as mcpc-yaml -o smoke.mcpc.yaml")+" writes one from the last command",
			)
		}
		all = append(all, found...)
	}
	return all, nil
}

// meantByPaths returns the hint for words that are a call, or the command of a server; "" if they are neither.
func suggestCommand(f *cmdutil.Factory, words []string) wire.Hint {
	if len(words) > 1 {
		if at, _ := arguments.Operator(words[1]); at > 0 || strings.HasPrefix(words[1], "{") {
			line := strings.Join(connect.QuotedWords(append([]string{"call"}, words...)), " ")
			return "did you mean " + wire.RunOnServer(line) + "?"
		}
	}
	if meant.BeginsCommand(words) {
		return meant.BehindDashes(f, "list", words)
	}
	return ""
}

// savedIn looks for files in a folder and those in it, in the order of their names.
// Folders that are hidden or hold what others wrote are left out.
func findInFolder(folder string) (found []string, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return usage.New(path+": "+usage.Bare(err).Error(), "")
		case d.IsDir() && path != folder && (strings.HasPrefix(name, ".") || name == "node_modules"):
			return fs.SkipDir
		case !d.IsDir() && (strings.HasSuffix(name, ".mcpc.yaml") || strings.HasSuffix(name, ".mcpc.yml")):
			found = append(found, path)
		}
		return nil
	})
	return found, err
}

// A problem is one of a file, with its place.
type problem struct {
	saved.Problem
	place       yaml.Place
	where, hint string
}

func (p problem) String() string {
	text := p.where + ": " + p.Text
	if p.hint != "" {
		text += "; " + p.hint
	}
	return text
}

// problems are those of all files.
type problems []problem

// err is the error of what must not be; nil where all of it is mild.
func (all problems) asError() error {
	all = slices.DeleteFunc(slices.Clone(all), func(p problem) bool { return p.Mild })
	switch len(all) {
	case 0:
		return nil
	case 1:
		return usage.New(
			all[0].where+": "+all[0].Text,
			cmp.Or(wire.Hint(all[0].hint), wire.Run("run --help")+" shows an example of a file"),
		)
	}
	e := &usage.Errors{Text: fmt.Sprintf("%d problems in the saved calls; nothing was sent", len(all))}
	for _, p := range all {
		text := p.Text
		if p.hint != "" {
			text += "; " + p.hint
		}
		e.Findings = append(e.Findings, wire.Finding{Rule: "saved", Level: wire.Error, Where: p.where + ":", Text: text})
	}
	return e
}

// readSaved reads a file and checks all that can be without a server.
func readSaved(f *cmdutil.Factory, path string, given map[string]saved.Value) (*runFile, problems) {
	file := &runFile{path: path, selected: map[int]bool{}}
	text, err := f.Env.ReadFile(path, host.MostInput)
	if err != nil {
		return file, problems{{where: path, Problem: saved.Problem{Text: usage.Bare(err).Error()}}}
	}
	file.text = string(text)
	file.doc, err = yaml.Parse(text)
	if err != nil && file.doc.JSON == nil {
		var bad *yaml.Error
		errors.As(err, &bad)
		p := problem{where: path + ":" + bad.Place.String(), Problem: saved.Problem{Text: bad.Text}}
		if lines := strings.Split(string(text), "\n"); bad.Line <= len(lines) && strings.Contains(lines[bad.Line-1], "${") {
			p.hint = `within { } and [ ] write references in quotes: "${name}"`
		}
		return file, problems{p}
	}
	return file, file.findProblems(f, given)
}

// problems are all that a file has by itself, in the order of the text. What is said of
// a value that could not be read comes of that.
func (file *runFile) findProblems(f *cmdutil.Factory, given map[string]saved.Value) (all problems) {
	unread := map[string]bool{}
	for _, p := range file.doc.Problems {
		all = append(all, file.newProblem(saved.Problem{Text: p.Text}, p.Place))
		unread[p.Pointer] = true
	}
	var found []saved.Problem
	file.File, found = saved.ReadFile(file.doc.JSON)
	for _, p := range append(found, findUnresolved(f, file, given)...) {
		place := file.doc.Place(p.At)
		if p.OnName {
			place = file.doc.NamePlace(p.At)
		}
		if !unread[p.At] {
			all = append(all, file.newProblem(p, place))
		}
	}
	sliceutil.Sort(all, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.place.Line, b.place.Line), cmp.Compare(a.place.Column, b.place.Column))
	})
	return all
}

func (f *runFile) newProblem(p saved.Problem, place yaml.Place) problem {
	out := problem{Problem: p, place: place, where: f.path + ":" + place.String(), hint: p.Hint}
	if len(p.Known) > 0 {
		out.hint = string(suggest.DidYouMean("%s", p.Got, p.Known, wire.Hint("there are: "+strings.Join(p.Known, ", "))))
	}
	return out
}

// choose settles which steps are taken: all of them, or with --only those of that name
// and those before them that capture what they use.
func (r *runner) selectSteps() error {
	var names []string
	found := map[string]bool{}
	for _, f := range r.files {
		needs := map[string]bool{}
		for i := len(f.Steps) - 1; i >= 0; i-- {
			s := f.Steps[i]
			names = append(names, s.Name)
			meant := len(r.options.only) == 0 || slices.Contains(r.options.only, s.Name)
			found[s.Name] = true
			for _, c := range s.Capture {
				meant = meant || needs[c.Name]
			}
			f.selected[i] = meant
			if !meant {
				continue
			}
			for _, use := range append(s.Uses(), variablesInQueries(s)...) {
				needs[use] = true
			}
		}
	}
	for _, name := range r.options.only {
		if !found[name] {
			return usage.New(
				fmt.Sprintf("no step is named %q", name),
				suggest.DidYouMean("%s", name, names, wire.Run("run --list")+" shows the names"),
			)
		}
	}
	return nil
}

// completeSteps offers the names of the steps in the files that are typed already.
func completeSteps(_ *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	paths, _ := findFiles(args)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if doc, err := yaml.Parse(text); err == nil {
			f, _ := saved.ReadFile(doc.JSON)
			for _, s := range f.Steps {
				names = append(names, s.Name)
			}
		}
	}
	return cmdutil.CompletedWords(names, typed), cmdutil.NoFiles
}
