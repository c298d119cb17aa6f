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
	script, err = joinModules(files, "bundle.js")
	return script, string(css), err
}

// The patterns that find imports and exports. The modules are written so that each import and export
// begins a line. A minified module has its exports at the end.
type patterns struct {
	// imports has the groups default name, name of the namespace, list of names, and module.
	imports *regexp.Regexp
	// declared has the groups keyword and name: export const NAME.
	declared *regexp.Regexp
	// list has the groups text before it and list of names: export { a, b as c }.
	list *regexp.Regexp
	// defaultValue has the group text before it: export default VALUE.
	defaultValue *regexp.Regexp
	// sourceMap finds the comment with the address of a source map.
	sourceMap *regexp.Regexp
}

var modulePatterns = sync.OnceValue(func() patterns {
	return patterns{
		imports:      regexp.MustCompile(`(?m)^import\s*(?:([\w$]+)|\*\s*as\s+([\w$]+)|\{([^}]*)\})\s*from\s*['"]([^'"]+)['"];?`),
		declared:     regexp.MustCompile(`(?m)^export\s+((?:async\s+)?function\*?|const|let|class)\s+([\w$]+)`),
		list:         regexp.MustCompile(`(?m)(^|[;}])export\s*\{([^}]*)\};?\s*$`),
		defaultValue: regexp.MustCompile(`(^|[;}\n])export default `),
		sourceMap:    regexp.MustCompile(`(?m)^//# sourceMappingURL=.*$`),
	}
})

// A joiner joins modules into one script. Each module becomes a function that is called once, after
// the modules that it imports, and returns its exports.
type joiner struct {
	files     fs.FS
	constants map[string]string // by module: the constant with its exports
	written   map[string]bool   // modules that are written
	out       strings.Builder
}

// joinModules returns one script with the module first and all modules that it imports.
func joinModules(files fs.FS, first string) (string, error) {
	j := &joiner{files: files, constants: map[string]string{}, written: map[string]bool{}}
	j.out.WriteString("(async () => {\n'use strict';\n")
	imports, text, _, err := j.readModule(first)
	if err != nil {
		return "", err
	}
	// The first module is not wrapped in a function, so that it can use await.
	j.out.WriteString(imports + text + "})();\n")
	script := j.out.String()
	// A browser would end the script element at such a text, even in a string.
	if strings.Contains(strings.ToLower(script), "</script") || strings.Contains(script, "<!--") {
		return "", fmt.Errorf("the page's script has text that ends a script")
	}
	return script, nil
}

// addModule writes a module after its imports, unless it is written, and returns the constant with
// its exports.
func (j *joiner) addModule(name string) (string, error) {
	if j.constants[name] != "" {
		return j.constants[name], nil
	}
	imports, text, exports, err := j.readModule(name)
	if err != nil {
		return "", err
	}
	constant := j.constants[name]
	j.written[name] = true
	fmt.Fprintf(&j.out, "const %s = (() => {\n%s%s\nreturn {%s};\n})();\n",
		constant, imports, strings.TrimSpace(text), exports)
	return constant, nil
}

// readModule writes the imports of a module. It returns the statements that declare the imported
// names, the text without imports and exports, and the exports as members of an object.
func (j *joiner) readModule(name string) (imports, text, exports string, err error) {
	// The constant has its name before the imports are read, so that modules may import each other.
	j.constants[name] = fmt.Sprint("module", len(j.constants), "$")
	raw, err := fs.ReadFile(j.files, name)
	if err != nil {
		return "", "", "", err
	}
	p := modulePatterns()
	text = p.sourceMap.ReplaceAllString(string(raw), "")
	for _, groups := range p.imports.FindAllStringSubmatch(text, -1) {
		module := path.Join(path.Dir(name), groups[4])
		constant, err := j.addModule(module)
		if err != nil {
			return "", "", "", err
		}
		defaultName, namespace, list := groups[1], groups[2], groups[3]
		switch {
		case list != "" && !j.written[module]:
			// The modules import each other, so the imported functions are looked up when called.
			// Only functions can be imported this way.
			imports += fmt.Sprintf("const %s;\n", formatNames(list, "%[2]s = (...a) => "+constant+".%[1]s(...a)"))
		case defaultName != "":
			imports += fmt.Sprintf("const %s = %s.default;\n", defaultName, constant)
		case namespace != "":
			imports += fmt.Sprintf("const %s = %s;\n", namespace, constant)
		default:
			imports += fmt.Sprintf("const {%s} = %s;\n", formatNames(list, "%[1]s: %[2]s"), constant)
		}
	}
	text, exports = splitExports(p.imports.ReplaceAllString(text, ""))
	return imports, text, exports, nil
}

// splitExports removes the exports from a module's text. It returns the text and the exports as members
// of an object.
func splitExports(text string) (rest, members string) {
	p := modulePatterns()
	var all []string
	for _, groups := range p.declared.FindAllStringSubmatch(text, -1) {
		all = append(all, groups[2])
	}
	text = p.declared.ReplaceAllString(text, "$1 $2")
	for _, groups := range p.list.FindAllStringSubmatch(text, -1) {
		all = append(all, formatNames(groups[2], "%[2]s: %[1]s"))
	}
	text = p.list.ReplaceAllString(text, "$1")
	if p.defaultValue.MatchString(text) {
		all = append(all, "default: $default")
		text = p.defaultValue.ReplaceAllString(text, "${1}const $$default = ")
	}
	return text, strings.Join(all, ", ")
}

// formatNames formats each "a as b" or "a" of a list with a format for a and b, which are equal in
// the second form.
func formatNames(list, format string) string {
	var all []string
	for item := range strings.SplitSeq(list, ",") {
		switch words := strings.Fields(item); len(words) { // 0 after a comma at the end
		case 1:
			all = append(all, fmt.Sprintf(format, words[0], words[0]))
		case 3:
			all = append(all, fmt.Sprintf(format, words[0], words[2]))
		}
	}
	return strings.Join(all, ", ")
}
