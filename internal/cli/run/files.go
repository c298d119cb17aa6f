package run

import (
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

// A runFile is a file of saved calls, and which of its steps are selected (by index).
type runFile struct {
	saved.File
	path     string
	doc      yaml.Document
	text     string
	selected map[int]bool
}

// findFiles returns the paths of files, and of all *.mcpc.yaml in each folder. A path that does not
// exist and a folder without such files are usage errors.
func findFiles(paths []string) (files []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, usage.New(
				path+": "+usage.Bare(err).Error(),
				wire.Run("run")+" takes files of saved calls, or folders with *.mcpc.yaml",
			)
		}
		if !info.IsDir() {
			files = append(files, path)
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
		files = append(files, found...)
	}
	return files, nil
}

// suggestCommand returns the hint for words that look like a call or the command of a server, else
// "".
func suggestCommand(f *cmdutil.Factory, words []string) wire.Hint {
	if len(words) > 1 {
		operatorIndex, _ := arguments.Operator(words[1])
		isArgument := operatorIndex > 0 || strings.HasPrefix(words[1], "{") // NAME=VALUE or JSON
		if isArgument {
			line := strings.Join(connect.QuotedWords(append([]string{"call"}, words...)), " ")
			return "did you mean " + wire.RunOnServer(line) + "?"
		}
	}
	if meant.IsServerCommand(words) {
		return meant.ServerCommandHint(f, "list", words)
	}
	return ""
}

// findInFolder returns the files in a folder and its subfolders, in the order of their names. It
// skips hidden folders and node_modules.
func findInFolder(folder string) (found []string, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return usage.New(path+": "+usage.Bare(err).Error(), "")
		}
		name := d.Name()
		if d.IsDir() {
			if path != folder && (strings.HasPrefix(name, ".") || name == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".mcpc.yaml") || strings.HasSuffix(name, ".mcpc.yml") {
			found = append(found, path)
		}
		return nil
	})
	return found, err
}

// A problem is a problem of a file with its place. where is the place as text, with the path.
type problem struct {
	saved.Problem
	place       yaml.Place
	where, hint string
}

// String returns the problem as one line: place, text and hint.
func (p problem) String() string {
	text := p.where + ": " + p.Text
	if p.hint != "" {
		text += "; " + p.hint
	}
	return text
}

// problems are the problems of one or more files.
type problems []problem

// asError returns the error for the problems, nil if all of them are mild.
func (all problems) asError() error {
	serious := slices.DeleteFunc(slices.Clone(all), func(p problem) bool { return p.Mild })
	switch len(serious) {
	case 0:
		return nil
	case 1:
		hint := wire.Hint(serious[0].hint)
		if hint == "" {
			hint = wire.Run("run --help-all") + " shows an example of a file"
		}
		return usage.New(serious[0].where+": "+serious[0].Text, hint)
	}
	e := &usage.Errors{Text: fmt.Sprintf("%d problems in the saved calls; nothing was sent", len(serious))}
	for _, p := range serious {
		text := p.Text
		if p.hint != "" {
			text += "; " + p.hint
		}
		e.Findings = append(e.Findings, wire.Finding{Rule: "saved", Severity: wire.Error, Pointer: p.where + ":", Text: text})
	}
	return e
}

// readSaved reads a file, and returns the problems that can be found without a server. given are
// the variables of the command line. If the file cannot be read, it has no steps.
func readSaved(f *cmdutil.Factory, path string, given map[string]saved.Value) (*runFile, problems) {
	file := &runFile{path: path, selected: map[int]bool{}}
	text, err := f.Env.ReadFile(path, host.MostInput)
	if err != nil {
		return file, problems{{where: path, Problem: saved.Problem{Text: usage.Bare(err).Error()}}}
	}
	file.text = string(text)
	file.doc, err = yaml.Parse(text)
	if err != nil && file.doc.JSON == nil { // with a document, the problems are in file.doc
		var bad *yaml.Error
		errors.As(err, &bad) // Parse returns no other error
		p := problem{where: path + ":" + bad.Place.String(), Problem: saved.Problem{Text: bad.Text}}
		if lines := strings.Split(string(text), "\n"); bad.Line <= len(lines) && strings.Contains(lines[bad.Line-1], "${") {
			p.hint = `within { } and [ ] write references in quotes: "${name}"`
		}
		return file, problems{p}
	}
	return file, file.findProblems(f, given)
}

// findProblems parses the file and returns its problems, in the order of the text. It drops
// problems of a value that YAML could not read: they only follow from that.
func (file *runFile) findProblems(f *cmdutil.Factory, given map[string]saved.Value) problems {
	unread := map[string]bool{}
	var all problems
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
		if a.place.Line != b.place.Line {
			return a.place.Line - b.place.Line
		}
		return a.place.Column - b.place.Column
	})
	return all
}

// newProblem returns a problem with its place in the file. If the problem is an unknown name, the hint
// suggests a known one.
func (f *runFile) newProblem(p saved.Problem, place yaml.Place) problem {
	out := problem{Problem: p, place: place, where: f.path + ":" + place.String(), hint: p.Hint}
	if len(p.Known) > 0 {
		out.hint = string(suggest.DidYouMean("%s", p.Got, p.Known, wire.Hint("there are: "+strings.Join(p.Known, ", "))))
	}
	return out
}

// selectSteps selects the steps to run: all of them, or with --only the steps of these names and
// the earlier steps that capture what they use.
func (r *runner) selectSteps() error {
	var names []string
	found := map[string]bool{}
	for _, f := range r.files {
		neededVars := map[string]bool{} // by the selected steps after this one
		for i, s := range slices.Backward(f.Steps) {
			names = append(names, s.Name)
			found[s.Name] = true
			isSelected := len(r.options.only) == 0 || slices.Contains(r.options.only, s.Name)
			for _, c := range s.Capture {
				if neededVars[c.Name] {
					isSelected = true
				}
			}
			f.selected[i] = isSelected
			if !isSelected {
				continue
			}
			for _, use := range append(s.Uses(), variablesInQueries(s)...) {
				neededVars[use] = true
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

// completeSteps completes the names of the steps in the files on the command line.
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
