package clitest

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The programs grep and sed, with the options that the scripts of the tests use. A machine may have
// only Go, git and coreutils.

// A textTool is one run of grep or sed.
type textTool struct {
	dir            string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// runGrep runs grep with the options a, c, e, E, F, h, i, l, m1, o, q, r, v and x. It returns 0 if a
// line matched, 1 if no line matched, and 2 for an error.
func (t textTool) runGrep(args []string) int {
	flags := ""
	var patterns []string
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--":
		case strings.HasSuffix(word, "e") && len(args) > 0:
			patterns = append(patterns, args[0])
			args = args[1:]
			flags += word[1 : len(word)-1]
			continue
		default:
			flags += word[1:]
			continue
		}
		break
	}
	if len(patterns) == 0 && len(args) > 0 {
		patterns = args[:1]
		args = args[1:]
	}
	if len(patterns) == 0 || strings.Trim(flags, "acEFhilm1oqrvx") != "" {
		return t.fail("grep", fmt.Errorf("the tests' own grep does not know -%s", flags))
	}
	has := func(flag string) bool { return strings.Contains(flags, flag) }
	for i, pattern := range patterns {
		if has("F") {
			patterns[i] = regexp.QuoteMeta(pattern)
		} else if !has("E") {
			patterns[i] = convertBasic(pattern)
		}
	}
	pattern := strings.Join(patterns, "|")
	if has("x") {
		pattern = "^(?:" + pattern + ")$"
	}
	if has("i") {
		pattern = "(?i)" + pattern
	}
	want, err := regexp.Compile(pattern)
	if err != nil {
		return t.fail("grep", err)
	}
	files, err := t.open(args, has("r"))
	if err != nil {
		return t.fail("grep", err)
	}
	found := false
	for _, f := range files {
		selected := 0
		for line := range eachLine(f) {
			line = strings.TrimSuffix(line, "\n")
			if want.MatchString(line) == has("v") {
				continue
			}
			selected++
			if has("m1") && selected > 1 {
				break
			}
			prefix := ""
			if len(files) > 1 && !has("h") {
				prefix = f.name + ":"
			}
			if has("q") || has("c") || has("l") {
				continue
			}
			if has("o") {
				for _, part := range want.FindAllString(line, -1) {
					fmt.Fprintln(t.stdout, prefix+part)
				}
			} else {
				fmt.Fprintln(t.stdout, prefix+line)
			}
		}
		f.Close()
		found = found || selected > 0
		switch {
		case has("l") && selected > 0:
			fmt.Fprintln(t.stdout, f.name)
		case has("c") && len(files) > 1:
			fmt.Fprintf(t.stdout, "%s:%d\n", f.name, selected)
		case has("c"):
			fmt.Fprintln(t.stdout, selected)
		}
	}
	if !found {
		return 1
	}
	return 0
}

func (t textTool) fail(name string, err error) int {
	fmt.Fprintf(t.stderr, "%s: %v\n", name, err)
	return 2
}

// A namedInput is a file, or standard input.
type namedInput struct {
	name string
	io.ReadCloser
}

// path returns the path of a file name relative to the tool's directory.
func (t textTool) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(t.dir, name)
}

// open opens files, and with deep the files in directories. Without names it returns standard
// input.
func (t textTool) open(names []string, deep bool) ([]namedInput, error) {
	if len(names) == 0 {
		return []namedInput{{"-", io.NopCloser(t.stdin)}}, nil
	}
	var files []namedInput
	for _, name := range names {
		path := t.path(name)
		err := filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && deep {
				return err
			}
			file, err := os.Open(at)
			if err != nil {
				return err
			}
			files = append(files, namedInput{name + strings.TrimPrefix(at, path), file})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// eachLine yields lines with their line ends.
func eachLine(r io.Reader) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadString('\n')
			if line != "" && !yield(line) || err != nil {
				return
			}
		}
	}
}

// convertBasic converts a basic regular expression to the syntax of Go: \(, \{, \|, \+ and \? are
// operators there, and plain characters without the backslash.
func convertBasic(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\' && i+1 < len(pattern) && strings.IndexByte("(){}|+?", pattern[i+1]) >= 0:
			i++
			b.WriteByte(pattern[i])
		case c == '\\' && i+1 < len(pattern):
			b.WriteString(pattern[i : i+2])
			i++
		case c == '[' && strings.IndexByte(pattern[min(i+2, len(pattern)):], ']') >= 0:
			end := i + 2 + strings.IndexByte(pattern[i+2:], ']')
			b.WriteString(strings.ReplaceAll(pattern[i:i+1]+strings.ReplaceAll(pattern[i+1:end], `\`, `\\`), `[[`, `[\[`) + "]")
			i = end
		case strings.IndexByte("(){}|+?", c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '*' && (i == 0 || b.String() == "^"):
			b.WriteString(`\*`)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// toolMain returns a main function for grep or sed.
func toolMain(tool func(textTool, []string) int) func() {
	return func() {
		os.Exit(tool(textTool{".", os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
	}
}
