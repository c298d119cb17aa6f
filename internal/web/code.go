package web

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"
)

// Code returns the page as one script and one style, for a page in a file, where modules cannot
// load each other. The script contains no "</script".
func Code() (script, style string, err error) {
	files := assets()
	css, err := fs.ReadFile(files, "page.css")
	if err != nil {
		return "", "", err
	}
	script, err = joinModules(files, "main.js")
	return script, string(css), err
}

// moduleWords has the expressions that find imports and exports. The modules are written so that each
// import and export begins a line. A minified module has its exports at the end.
var moduleWords = sync.OnceValue(func() (w struct{ imports, declared, list, usual, comment *regexp.Regexp }) {
	w.imports = regexp.MustCompile(`(?m)^import\s*(?:([\w$]+)|\*\s*as\s+([\w$]+)|\{([^}]*)\})\s*from\s*['"]([^'"]+)['"];?`)
	w.declared = regexp.MustCompile(`(?m)^export\s+((?:async\s+)?function\*?|const|let|class)\s+([\w$]+)`)
	w.list = regexp.MustCompile(`(?m)(^|[;}])export\s*\{([^}]*)\};?\s*$`)
	w.usual = regexp.MustCompile(`(^|[;}\n])export default `)
	w.comment = regexp.MustCompile(`(?m)^//# sourceMappingURL=.*$`)
	return w
})

// A joiner joins modules into one script. Each module becomes a function that is called once, after
// the modules that it imports, and returns its exports.
type joiner struct {
	files   fs.FS
	names   map[string]string // module to the constant with its exports
	written map[string]bool   // modules that are written
	out     strings.Builder
}

// joinModules returns one script with the module first and all modules that it imports.
func joinModules(files fs.FS, first string) (string, error) {
	j := &joiner{files: files, names: map[string]string{}, written: map[string]bool{}}
	j.out.WriteString("(async () => {\n'use strict';\n")
	if _, err := j.addModule(first, true); err != nil {
		return "", err
	}
	j.out.WriteString("})();\n")
	if script := j.out.String(); !strings.Contains(strings.ToLower(script), "</script") &&
		!strings.Contains(script, "<!--") {
		return script, nil
	}
	return "", fmt.Errorf("the page's script has text that ends a script")
}

// addModule writes a module after its imports, and returns the constant with its exports. The first
// module is not wrapped in a function, so that it can use await.
func (j *joiner) addModule(name string, first bool) (string, error) {
	if j.names[name] != "" {
		return j.names[name], nil
	}
	constant := fmt.Sprint("module", len(j.names), "$")
	j.names[name] = constant
	raw, err := fs.ReadFile(j.files, name)
	if err != nil {
		return "", err
	}
	words := moduleWords()
	text := words.comment.ReplaceAllString(string(raw), "")
	var head strings.Builder
	for _, m := range words.imports.FindAllStringSubmatch(text, -1) {
		from, err := j.addModule(path.Join(path.Dir(name), m[4]), false)
		if err != nil {
			return "", err
		}
		switch {
		case m[3] != "" && !j.written[path.Join(path.Dir(name), m[4])]:
			// The modules import each other, so the imported functions are looked up when called.
			fmt.Fprintf(&head, "const %s;\n", formatNames(m[3], "%[2]s = (...a) => "+from+".%[1]s(...a)"))
		case m[1] != "":
			fmt.Fprintf(&head, "const %s = %s.default;\n", m[1], from)
		case m[2] != "":
			fmt.Fprintf(&head, "const %s = %s;\n", m[2], from)
		default:
			fmt.Fprintf(&head, "const {%s} = %s;\n", formatNames(m[3], "%[1]s: %[2]s"), from)
		}
	}
	text, exports := splitExports(words.imports.ReplaceAllString(text, ""))
	if first {
		j.out.WriteString(head.String() + text)
		return "", nil
	}
	j.written[name] = true
	fmt.Fprintf(
		&j.out,
		"const %s = (() => {\n%s%s\nreturn {%s};\n})();\n",
		constant,
		head.String(),
		strings.TrimSpace(text),
		exports,
	)
	return constant, nil
}

// splitExports removes the exports from a module's text. It returns the text and the exports as members
// of an object.
func splitExports(text string) (rest, members string) {
	words := moduleWords()
	var all []string
	for _, m := range words.declared.FindAllStringSubmatch(text, -1) {
		all = append(all, m[2])
	}
	text = words.declared.ReplaceAllString(text, "$1 $2")
	for _, m := range words.list.FindAllStringSubmatch(text, -1) {
		all = append(all, formatNames(m[2], "%[2]s: %[1]s"))
	}
	text = words.list.ReplaceAllString(text, "$1")
	if words.usual.MatchString(text) {
		all = append(all, "default: $default")
		text = words.usual.ReplaceAllString(text, "${1}const $$default = ")
	}
	return text, strings.Join(all, ", ")
}

// formatNames formats each "a as b" or "a" of a list with a format for a and b.
func formatNames(list, format string) string {
	var all []string
	for item := range strings.SplitSeq(list, ",") {
		switch words := strings.Fields(item); len(words) {
		case 1:
			all = append(all, fmt.Sprintf(format, words[0], words[0]))
		case 3:
			all = append(all, fmt.Sprintf(format, words[0], words[2]))
		}
	}
	return strings.Join(all, ", ")
}
