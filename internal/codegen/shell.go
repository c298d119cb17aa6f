package codegen

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed client.sh.txt
var shClient string

// Shell returns a POSIX shell script: a command with a subcommand for each tool, and a flag for
// each member of the tool's inputSchema. mcpc converts and validates the values. --args sets
// members with names that cannot be flags. left has the tools without a subcommand.
func Shell(s Source) (code []byte, left []Omitted) {
	all, left := s.buildWrappers()
	const maxNameWidth = 40 // a longer name pushes its own description to the right
	var tools, list strings.Builder
	width := 0
	for _, w := range all {
		width = max(width, min(utf8.RuneCountInString(oneLine(w.tool.Name)), maxNameWidth))
	}
	for i, w := range all {
		fmt.Fprintf(&list, "  %-*s  %s\n", width, oneLine(w.tool.Name), shortenText(oneLine(w.tool.Description), 100))
		fmt.Fprintf(&tools, "%s)\n  flags=flags_%d help=help_%d ;;\n", quoteShell(w.tool.Name), i+1, i+1)
	}
	var g tsWriter
	for _, l := range left {
		g.writeLine("# Left out: %s: %s", oneLine(l.Name), l.Reason)
	}
	for i, w := range all {
		g.writeShellTool(i+1, w)
	}
	serverFlags := ""
	if s.Command != nil {
		serverFlags = " --"
		for _, word := range s.Command {
			serverFlags += " " + quoteShell(word)
		}
	} else if s.Target != "" {
		serverFlags = " -s " + quoteShell(s.Target)
	}
	return []byte(strings.NewReplacer(
		"@SERVER@", oneLine(s.Server), "@LIST@\n", list.String(), "@FUNCTIONS@\n", g.b.String(),
		"@TOOLS@\n", tools.String(), " @WHERE@", serverFlags).Replace(shClient)), left
}

// flagName matches names of members that can be flags.
var flagName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`) })

// writeShellTool writes two shell functions for a tool: flags_N sets the name and kind of a flag, and
// help_N prints the help.
func (g *tsWriter) writeShellTool(number int, w wrapper) {
	var fields []field
	if w.input != nil {
		fields = w.input.fields
	}
	g.writeLine("flags_%d() {", number)
	g.writeLine("  case $1 in")
	var help strings.Builder
	for _, f := range fields {
		words := shellFlags(f.name, fields)
		if words == nil { // --args sets this member
			continue
		}
		kind := "text"
		switch f.typ.typeKind {
		case boolean:
			kind = "switch"
		case object, dict, list:
			kind = "json"
		}
		g.writeLine("  %s) name=%s kind=%s ;;", strings.Join(words, " | "), f.name, kind)
		fmt.Fprintf(&help, "  --%s %s\n", words[0], strings.TrimSpace(shellPlaceholder(f)))
		for _, line := range wrapWords(oneLine(f.description), 72) {
			if line != "" {
				fmt.Fprintf(&help, "        %s\n", line)
			}
		}
	}
	g.writeLine("  *) return 1 ;;")
	g.writeLine("  esac")
	g.writeLine("}")
	g.writeLine("help_%d() {", number)
	g.writeLine("  cat <<'END_OF_HELP'")
	for _, line := range wrapWords(oneLine(w.tool.Description), 78) {
		if line != "" {
			// The indent keeps a line from ending the here-document.
			g.writeLine("  %s", line)
		}
	}
	g.writeLine("")
	g.b.WriteString(help.String())
	g.writeLine("  --args JSON (all members as one object; @FILE reads a file)")
	g.writeLine("  -- FLAG... (flags of mcpc call, such as --json, --yes or --answer NAME=VALUE)")
	g.writeLine("END_OF_HELP")
	g.writeLine("}")
}

// shellFlags returns the flags of a member: its name, and before it the name in lower case with dashes
// unless another member has that name. It returns nil if the member's name cannot be a flag.
func shellFlags(name string, fields []field) []string {
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
	isMember := slices.ContainsFunc(fields, func(f field) bool { return f.name == dashed }) // perhaps this one
	isScriptFlag := dashed == "args" || dashed == "help"
	beginsWithDash := strings.HasPrefix(dashed, "-") // as name begins with _
	if isMember || isScriptFlag || beginsWithDash || hasEarlierTwin(dashed, name, fields) {
		return []string{name}
	}
	return []string{dashed, name}
}

// hasEarlierTwin reports whether a member before name in fields equals dashed, if case, dashes and
// underscores are ignored.
func hasEarlierTwin(dashed, name string, fields []field) bool {
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

// shellPlaceholder returns the placeholder of a flag's value in the help, such as TEXT, with "(required)"
// after it if the member is required.
func shellPlaceholder(f field) string {
	value := map[typeKind]string{
		text: "TEXT", integer: "INTEGER", number: "NUMBER", boolean: "[=false]", anything: "VALUE",
	}[f.typ.typeKind]
	if value == "" {
		value = "JSON"
	}
	if f.typ.choices != nil && f.typ.typeKind == text {
		value = "TEXT " + oneLine(enumRemark(f.typ))
	}
	if f.isRequired {
		value += " (required)"
	}
	return value
}

// shortenText returns s with at most most characters; the last one is … if s is longer.
func shortenText(s string, maxRunes int) string {
	if r := []rune(s); len(r) > maxRunes {
		return string(r[:maxRunes-1]) + "…"
	}
	return s
}

// quoteShell returns a text as a shell word in single quotes.
func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
