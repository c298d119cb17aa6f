package clitest

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// A sedCommand is a command p, d or s with the lines that it selects.
type sedCommand struct {
	line       int            // line number, or 0
	pattern    *regexp.Regexp // matching lines, or nil
	isToEnd    bool           // all lines from the first matching line on
	isNegated  bool           // all other lines
	verb       byte
	old        *regexp.Regexp
	new        string
	isGlobal   bool
	isPrinted  bool
	hasStarted bool
}

var sedAddress = regexp.MustCompile(`^(?:([0-9]+)|/((?:[^/\\]|\\.)*)/)?(,\$)?(!)?([pds])`)

// parseSed parses commands between semicolons, such as 3p, 1d, /A/!p, /A/,$p and s/A/B/g.
func parseSed(text string, extended bool) ([]*sedCommand, error) {
	compile := func(pattern string) (*regexp.Regexp, error) {
		if !extended {
			pattern = convertBasic(pattern)
		}
		return regexp.Compile(pattern)
	}
	var commands []*sedCommand
	for text = strings.TrimLeft(text, "; "); text != ""; text = strings.TrimLeft(text, "; ") {
		parts := sedAddress.FindStringSubmatch(text)
		if parts == nil {
			return nil, fmt.Errorf("the tests' own sed does not know %q", text)
		}
		text = text[len(parts[0]):]
		c := &sedCommand{isToEnd: parts[3] != "", isNegated: parts[4] != "", verb: parts[5][0]}
		c.line, _ = strconv.Atoi(parts[1])
		var err error
		if parts[2] != "" {
			c.pattern, err = compile(parts[2])
			if err != nil {
				return nil, err
			}
		}
		if c.verb == 's' {
			fields := strings.SplitN(text[1:], text[:1], 3)
			if len(fields) != 3 {
				return nil, fmt.Errorf("s%s has no end", text)
			}
			c.old, err = compile(fields[0])
			if err != nil {
				return nil, err
			}
			c.new = regexp.MustCompile(`\\([0-9])`).ReplaceAllString(strings.ReplaceAll(fields[1], "$", "$$"), "$${$1}")
			c.new = regexp.MustCompile(`\\(.)`).ReplaceAllString(c.new, "$1")
			flags := fields[2][:len(fields[2])-len(strings.TrimLeft(fields[2], "gp"))]
			c.isGlobal = strings.Contains(flags, "g")
			c.isPrinted = strings.Contains(flags, "p")
			text = fields[2][len(flags):]
		}
		commands = append(commands, c)
	}
	return commands, nil
}

func (c *sedCommand) selects(number int, line string) bool {
	isMatch := c.pattern != nil && c.pattern.MatchString(line) || c.line == number || c.pattern == nil && c.line == 0
	c.hasStarted = c.hasStarted || isMatch
	return (isMatch || c.isToEnd && c.hasStarted) != c.isNegated
}

// substitute returns the line after the substitution, and whether the pattern matched.
func (c *sedCommand) substitute(line string) (string, bool) {
	match := c.old.FindStringSubmatchIndex(line)
	if match == nil {
		return line, false
	}
	if c.isGlobal {
		return c.old.ReplaceAllString(line, c.new), true
	}
	return line[:match[0]] + string(c.old.ExpandString(nil, c.new, line, match)) + line[match[1]:], true
}

// runSed runs sed with the options n, E and i. -i changes one file.
func (t textTool) runSed(args []string) int {
	flags := ""
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flags += args[0][1:]
		args = args[1:]
	}
	inPlace := strings.Contains(flags, "i")
	if len(args) == 0 || inPlace && len(args) != 2 || strings.Trim(flags, "nEi") != "" {
		return t.fail("sed", fmt.Errorf("the tests' own sed does not know %q with %d words", flags, len(args)))
	}
	commands, err := parseSed(args[0], strings.Contains(flags, "E"))
	if err != nil {
		return t.fail("sed", err)
	}
	files, err := t.open(args[1:], false)
	if err != nil {
		return t.fail("sed", err)
	}
	var out bytes.Buffer
	number := 0
	for _, f := range files {
		for line := range eachLine(f) {
			number++
			text, end := strings.CutSuffix(line, "\n")
			newline := ""
			if end {
				newline = "\n"
			}
			deleted := strings.Contains(flags, "n")
			for _, c := range commands {
				if !c.selects(number, text) {
					continue
				}
				switch c.verb {
				case 'p':
					out.WriteString(text + newline)
				case 'd':
					deleted = true
				case 's':
					changed := false
					text, changed = c.substitute(text)
					if changed && c.isPrinted {
						out.WriteString(text + newline)
					}
				}
			}
			if !deleted {
				out.WriteString(text + newline)
			}
		}
		f.Close()
	}
	if !inPlace {
		t.stdout.Write(out.Bytes())
		return 0
	}
	if err := os.WriteFile(t.path(args[1]), out.Bytes(), 0o600); err != nil {
		return t.fail("sed", err)
	}
	return 0
}
