package reload

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// neverWatched are the names of directories that are never watched, even without a .gitignore.
var neverWatched = []string{".git", "node_modules", "__pycache__"}

// A pattern selects files by their absolute path.
type pattern struct {
	text string
	// base is the longest part of the path without wildcards: a directory, or the file itself.
	base   string
	regexp *regexp.Regexp
	// depth is the number of directories between base and a file; -1 is any number.
	depth int
}

// A PatternError is the error for a pattern that cannot be parsed.
type PatternError struct{ Pattern string }

func (e PatternError) Error() string {
	return fmt.Sprintf("the pattern %q has an invalid bracket", e.Pattern)
}

// parsePattern parses a pattern that is relative to dir: * and ? match within one name, ** matches
// any number of directories, {a,b} is a choice. A pattern without wildcards selects a file, or all
// files below a directory.
func parsePattern(dir, text string) (pattern, error) {
	literal := filepath.ToSlash(filepath.Clean(text))
	wildcards := ""
	if at := strings.IndexAny(literal, "*?[{"); at >= 0 {
		start := strings.LastIndexByte(literal[:at], '/') + 1
		wildcards = literal[start:]
		literal = literal[:start]
	}
	base := filepath.FromSlash(literal)
	if !filepath.IsAbs(base) {
		base = filepath.Join(dir, base)
	}
	base = filepath.Clean(base)
	source := "^" + regexp.QuoteMeta(strings.TrimSuffix(filepath.ToSlash(base), "/"))
	depth := -1
	if wildcards == "" {
		source += "(?:/.*)?"
	} else {
		source += "/" + globSource(wildcards)
	}
	if wildcards != "" && !strings.Contains(wildcards, "**") {
		depth = strings.Count(wildcards, "/")
	}
	re, err := regexp.Compile(source + "$")
	if err != nil {
		return pattern{}, PatternError{text}
	}
	return pattern{text: text, base: base, regexp: re, depth: depth}, nil
}

// contains reports whether files in dir may match: dir is base, or a directory below it that is not too
// deep.
func (p pattern) contains(dir string) bool {
	rest, ok := below(p.base, dir)
	return ok && (p.depth < 0 || rest == "" || strings.Count(rest, string(filepath.Separator)) < p.depth)
}

// below returns the part of path after dir, without a separator at its start, and reports whether path
// is dir or below it.
func below(dir, path string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, dir)
	if !ok || rest == "" {
		return "", ok
	}
	if after, isBelow := strings.CutPrefix(rest, string(filepath.Separator)); isBelow {
		return after, true
	}
	return rest, strings.HasSuffix(dir, string(filepath.Separator)) // dir is the root
}

// globSource returns the source of a regular expression for a pattern of paths with slashes.
func globSource(glob string) string {
	var b strings.Builder
	inBraces := 0
	for i := 0; i < len(glob); i++ {
		rest := glob[i:]
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:[^/]+/)*")
			i += 2
		case strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i++
		case rest[0] == '*':
			b.WriteString("[^/]*")
		case rest[0] == '?':
			b.WriteString("[^/]")
		case strings.HasPrefix(rest, "[!"):
			b.WriteString("[^")
			i++
		case rest[0] == '[' || rest[0] == ']':
			b.WriteByte(rest[0])
		case rest[0] == '{':
			b.WriteString("(?:")
			inBraces++
		case rest[0] == '}' && inBraces > 0:
			b.WriteByte(')')
			inBraces--
		case rest[0] == ',' && inBraces > 0:
			b.WriteByte('|')
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
	}
	return b.String()
}

// An ignoreRule is one line of a .gitignore file.
type ignoreRule struct {
	regexp *regexp.Regexp
	// isNegated is set if matching files are not ignored. onlyDirectories is set for a line that ends
	// with a slash.
	isNegated, onlyDirectories bool
}

// ignoreRules are the lines of the .gitignore files of some directories, the outermost first.
type ignoreRules struct {
	rules []ignoreRule
	// read are the directories whose file was read.
	read map[string]bool
}

// load adds the lines of the .gitignore file in dir. A directory without the file has no lines.
func (g *ignoreRules) load(dir string) {
	if g.read[dir] {
		return
	}
	if g.read == nil {
		g.read = map[string]bool{}
	}
	g.read[dir] = true
	raw, _ := os.ReadFile(filepath.Join(dir, ".gitignore"))
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		var r ignoreRule
		line, r.isNegated = strings.CutPrefix(line, "!")
		line, r.onlyDirectories = strings.CutSuffix(line, "/")
		anywhere := "(?:.*/)?"
		if strings.Contains(line, "/") {
			anywhere = ""
		}
		source := globSource(strings.TrimPrefix(line, "/"))
		re, err := regexp.Compile("^" + regexp.QuoteMeta(filepath.ToSlash(dir)) + "/" + anywhere + source + "$")
		if err == nil { // git ignores an invalid line too
			r.regexp = re
			g.rules = append(g.rules, r)
		}
	}
}

// loadAbove adds the lines of the directories above dir that are in the same git repository.
func (g *ignoreRules) loadAbove(dir string) {
	var dirs []string
	for ; ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			dirs = dirs[:1] // no repository
			break
		}
	}
	slices.Reverse(dirs)
	for _, d := range dirs {
		g.load(d)
	}
}

// ignores reports whether a file or directory is ignored by its own path. Files in an ignored directory
// are not reported: the caller does not look into it.
func (g *ignoreRules) ignores(path string, isDir bool) bool {
	if isDir && slices.Contains(neverWatched, filepath.Base(path)) {
		return true
	}
	path = filepath.ToSlash(path)
	for _, r := range slices.Backward(g.rules) { // the last matching line counts
		if (isDir || !r.onlyDirectories) && r.regexp.MatchString(path) {
			return !r.isNegated
		}
	}
	return false
}
