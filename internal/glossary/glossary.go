// Package glossary explains the words of the protocol and of mcpc's messages: codes, statuses,
// methods, members, findings. Its entries are in words.txt; each names pages of the specification.
package glossary

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/wire"
)

//go:embed words.txt
var text string

// An Entry is one thing that can be explained. Means, Next, Exit and See may be empty.
type Entry struct {
	// Group is the kind of word, such as "codes".
	Group string `json:"group"`
	// Words are its name and its other names.
	Words []string `json:"words"`
	Title string   `json:"title"`
	Means string   `json:"means,omitempty"`
	// Revisions are the revisions of the protocol with the word, From is the side that sends it.
	Revisions string `json:"revisions"`
	From      string `json:"from"`
	// Exit is the exit code of a command that fails with it.
	Exit string `json:"exit,omitempty"`
	Next string `json:"next,omitempty"`
	// Where names pages of the specification, as in "server/tools".
	Where string   `json:"where"`
	See   []string `json:"see,omitempty"`
}

// A Group is a kind of words.
type Group struct{ Name, Heading string }

// Read returns all entries, in the order of the file, and their groups.
//
// In words.txt "[name] heading" begins a group, "word, word = title" an entry. Indented lines are
// "key: text"; between a group and its first entry they are for all entries of the group. A line
// that is indented further continues the text of the line above.
func Read() (entries []Entry, groups []Group) {
	shared := &Entry{} // the members of all entries of the group
	current := shared  // the entry that gets the next member
	var member *string // the last member that was read
	var all []*Entry
	for _, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		switch {
		case strings.HasPrefix(line, "    ") && member != nil:
			*member += " " + trimmed
		case line[0] == '[':
			name, heading, _ := strings.Cut(trimmed[1:], "] ")
			groups = append(groups, Group{name, heading})
			shared = &Entry{Group: name}
			current = shared
		case line[0] == ' ':
			key, value, _ := strings.Cut(trimmed, ": ")
			member = current.memberPointer(key)
			if member != nil {
				*member = value
			} else {
				current.See = strings.Split(value, ", ")
			}
		default:
			words, title, _ := strings.Cut(trimmed, " = ")
			e := *shared
			e.Words = strings.Split(words, ", ")
			e.Title = title
			current = &e
			all = append(all, current)
		}
	}
	for _, e := range all {
		entries = append(entries, *e)
	}
	return entries, groups
}

// memberPointer returns the member with a key in words.txt, or nil if key is "see", which is a
// list.
func (e *Entry) memberPointer(key string) *string {
	return map[string]*string{
		"means": &e.Means, "revisions": &e.Revisions, "from": &e.From,
		"exit": &e.Exit, "next": &e.Next, "where": &e.Where,
	}[key]
}

// Find returns the entries for a word: one, several if it has several meanings, or nil. Entries of
// the protocol come before exit codes. A number may be typed without its kind: 404 is "http 404".
func Find(entries []Entry, word string) []Entry {
	var found []Entry
	for _, name := range candidates(word) {
		var exits []Entry
		for _, e := range entries {
			if !slices.ContainsFunc(e.Words, func(w string) bool { return normalize(w) == name }) {
				continue
			}
			if e.Group == "exits" {
				exits = append(exits, e)
			} else {
				found = append(found, e)
			}
		}
		if found != nil || exits != nil {
			return append(found, exits...)
		}
	}
	for _, e := range entries {
		if normalize(e.Title) == normalize(word) {
			found = append(found, e)
		}
	}
	return found
}

// normalize returns a word in lower case, with single blanks for _ and without parentheses, as of
// (conversation).
func normalize(word string) string {
	plain := strings.NewReplacer("_", " ", "(", "", ")", "").Replace(strings.ToLower(word))
	return strings.Join(strings.Fields(plain), " ")
}

// candidates returns the words of words.txt that typed can mean, the nearest first. A number is looked up as
// an exit code, an HTTP status or a JSON-RPC code; 32601 can be -32601.
func candidates(typed string) []string {
	word := strings.TrimSuffix(normalize(typed), ":")
	only := []string{word}
	if name, reserved := strings.CutPrefix(word, "io.modelcontextprotocol/"); reserved {
		return []string{word, name}
	}
	if strings.HasPrefix(word, "mcp-param-") {
		return []string{word, "mcp-param"}
	}
	kind, number := splitNumber(word)
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return only
	}
	if kind == "" {
		kind = kindOfNumber(n)
	}
	switch {
	case kind == "exit" && isSignalExit(n):
		return append(only, "exit 128+n")
	case kind == "exit":
		return append(only, "exit "+strconv.FormatInt(n, 10))
	case kind == "http":
		return append(only, "http "+number, "http "+strconv.FormatInt(n/100, 10)+"xx")
	case kind == "negated code":
		return append(only, "-"+number, codeRange(-n))
	case kind == "code":
		return append(only, number, codeRange(n))
	}
	return only
}

// splitNumber splits a word into the kind of a number and the number: "exit 3" into "exit" and "3",
// "code 32601" into "code" and "32601", "http status 404" into "http" and "404". The kind of
// "status 404" and "404" is "".
func splitNumber(word string) (kind, number string) {
	if rest, isCode := strings.CutPrefix(word, "code "); isCode {
		return "code", rest
	}
	short := strings.NewReplacer("code ", "", "status ", "").Replace(word)
	kind, number, hasKind := strings.Cut(short, " ")
	if !hasKind {
		return "", short
	}
	return kind, number
}

// kindOfNumber returns the kind of a number that was typed without one: "exit", "http", "code", or
// "negated code" for a code without its minus sign.
func kindOfNumber(n int64) string {
	if n >= 0 && n < 100 || isSignalExit(n) {
		return "exit"
	}
	if n >= 100 && n < 600 {
		return "http"
	}
	if n >= 32000 && n <= 32768 {
		return "negated code"
	}
	return "code"
}

// isSignalExit reports whether n is the exit code of a program that a signal ended.
func isSignalExit(n int64) bool { return n > 128 && n <= 192 }

// codeRange returns the name of the entry for JSON-RPC codes without a separate entry.
func codeRange(code int64) string {
	switch wire.RangeOfCode(code) {
	case wire.ServerCodes:
		return "-32000..-32019"
	case wire.MCPCodes:
		return "-32020..-32099"
	case wire.JSONRPCCodes:
		return "-32100..-32768"
	}
	return "application code"
}
