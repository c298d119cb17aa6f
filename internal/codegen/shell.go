package codegen

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed client.sh.txt
var shClient string

// Shell returns a POSIX shell script: a command with a subcommand for each tool, and a flag for
// each member of the tool's inputSchema. mcpc converts and validates the values. --args sets
// members with names that cannot be flags. left has the tools without a subcommand.
func Shell(s Source) (code []byte, left []LeftOut) {
	all, left := s.wrappers()
	var tools, list strings.Builder
	width := 0
	for _, w := range all {
		width = max(width, min(utf8.RuneCountInString(oneLine(w.tool.Name)), 40))
	}
	for i, w := range all {
		fmt.Fprintf(&list, "  %-*s  %s\n", width, oneLine(w.tool.Name), shortened(oneLine(w.tool.Description), 100))
		fmt.Fprintf(&tools, "%s)\n  flags=flags_%d help=help_%d ;;\n", shText(w.tool.Name), i+1, i+1)
	}
	var g tsWriter
	for _, l := range left {
		g.line("# Left out: %s: %s", oneLine(l.Name), l.Why)
	}
	for i, w := range all {
		g.shTool(i+1, w)
	}
	where := ""
	if s.Command != nil {
		where = " --"
		for _, word := range s.Command {
			where += " " + shText(word)
		}
	} else if s.Target != "" {
		where = " -s " + shText(s.Target)
	}
	return []byte(strings.NewReplacer(
		"@SERVER@", oneLine(s.Server), "@LIST@\n", list.String(), "@FUNCTIONS@\n", g.b.String(),
		"@TOOLS@\n", tools.String(), " @WHERE@", where).Replace(shClient)), left
}

// flagName matches names of members that can be flags.
var flagName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`) })

// shTool writes two shell functions for a tool: flags_N sets the name and kind of a flag, and
// help_N prints the help.
func (g *tsWriter) shTool(number int, w wrapper) {
	var fields []field
	if w.input != nil {
		fields = w.input.fields
	}
	g.line("flags_%d() {", number)
	g.line("  case $1 in")
	var help strings.Builder
	for _, f := range fields {
		words := shFlags(f.name, fields)
		if words == nil {
			continue
		}
		kind := "text"
		switch f.typ.sort {
		case boolean:
			kind = "switch"
		case object, dict, list:
			kind = "json"
		}
		g.line("  %s) name=%s kind=%s ;;", strings.Join(words, " | "), f.name, kind)
		fmt.Fprintf(&help, "  --%s %s\n", words[0], strings.TrimSpace(shValue(f)))
		for _, line := range wrapped(oneLine(f.about), 72) {
			if line != "" {
				fmt.Fprintf(&help, "        %s\n", line)
			}
		}
	}
	g.line("  *) return 1 ;;")
	g.line("  esac")
	g.line("}")
	g.line("help_%d() {", number)
	g.line("  cat <<'END_OF_HELP'")
	for _, line := range wrapped(oneLine(w.tool.Description), 78) {
		if line != "" {
			// The indent keeps a line from ending the here-document.
			g.line("  %s", line)
		}
	}
	g.line("")
	g.b.WriteString(help.String())
	g.line("  --args JSON (all members as one object; @FILE reads a file)")
	g.line("  -- FLAG... (flags of mcpc call, such as --json, --yes or --answer NAME=VALUE)")
	g.line("END_OF_HELP")
	g.line("}")
}

// shFlags returns the flags of a member: its name, and before it the name in lower case with dashes
// unless another member has that name. It returns nil if the member's name cannot be a flag.
func shFlags(name string, fields []field) []string {
	if !flagName().MatchString(name) || name == "args" || name == "help" {
		return nil
	}
	var b strings.Builder
	for i, r := range name {
		if r == '_' {
			r = '-'
		} else if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('-')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	dashed := b.String()
	for _, f := range fields {
		if f.name == dashed {
			dashed = name
		}
	}
	if dashed == name || dashed == "args" || dashed == "help" || strings.HasPrefix(dashed, "-") ||
		dashedBefore(dashed, name, fields) {
		return []string{name}
	}
	return []string{dashed, name}
}

// dashedBefore reports whether a member before name in fields equals dashed, if case, dashes and
// underscores are ignored.
func dashedBefore(dashed, name string, fields []field) bool {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s)) }
	for _, f := range fields {
		if f.name == name {
			return false
		}
		if plain(f.name) == plain(dashed) {
			return true
		}
	}
	return false
}

// shValue returns the placeholder of a flag's value in the help, such as TEXT, with "(required)"
// after it if the member is required.
func shValue(f field) string {
	value := map[sort]string{
		text: "TEXT", integer: "INTEGER", number: "NUMBER", boolean: "[=false]", anything: "VALUE",
	}[f.typ.sort]
	if value == "" {
		value = "JSON"
	}
	if f.typ.choices != nil && f.typ.sort == text {
		value = "TEXT " + oneLine(choicesOf(f.typ))
	}
	if f.required {
		value += " (required)"
	}
	return value
}

// shortened returns s with at most most characters; the last one is … if s is longer.
func shortened(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// shText returns a text as a shell word in single quotes.
func shText(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
