// Package glossary says what the words mean that a person meets on the wire and
// in mcpc's messages: codes, statuses, methods, members, findings.
//
// It depends on no server and no command; its facts are those of the specification,
// page by page, and are kept in words.txt.
package glossary

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
)

//go:embed words.txt
var text string

// An Entry is one thing that can be explained. Means, Next, Exit and See may be
// empty.
type Entry struct {
	// Group is what kind of word it is, such as "codes".
	Group string `json:"group"`
	// Words are its name and what else it is called.
	Words []string `json:"words"`
	Title string   `json:"title"`
	Means string   `json:"means,omitempty"`
	// Revisions and From say where it is met: in which revisions of the protocol,
	// and who sends it.
	Revisions string `json:"revisions"`
	From      string `json:"from"`
	// Exit is the exit code of a command that ends because of it.
	Exit string `json:"exit,omitempty"`
	Next string `json:"next,omitempty"`
	// Where names pages of the specification, as in "server/tools".
	Where string   `json:"where"`
	See   []string `json:"see,omitempty"`
}

// A Group is a kind of words.
type Group struct{ Name, Heading string }

// Read gives all entries, in the order of the file, and their groups.
//
// Its lines: "[name] heading" begins a group, "word, word = title" an entry.
// Indented lines are "key: text"; those below a group hold for all its entries,
// and a line that is indented further goes on with the one above.
func Read() (entries []Entry, groups []Group) {
	var shared, e Entry
	open, last := false, (*string)(nil)
	for _, line := range strings.Split(text, "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "" || trimmed[0] == '#':
		case strings.HasPrefix(line, "    ") && last != nil:
			*last += " " + trimmed
		case line[0] == '[':
			entries = closed(entries, e, open)
			name, heading, _ := strings.Cut(trimmed[1:], "] ")
			groups = append(groups, Group{name, heading})
			shared, open = Entry{Group: name}, false
		case line[0] == ' ':
			key, value, _ := strings.Cut(trimmed, ": ")
			in := &shared
			if open {
				in = &e
			}
			if last = in.member(key); last != nil {
				*last = value
			} else {
				in.See = strings.Split(value, ", ")
			}
		default:
			entries = closed(entries, e, open)
			words, title, _ := strings.Cut(trimmed, " = ")
			e, open = shared, true
			e.Words, e.Title = strings.Split(words, ", "), title
		}
	}
	return closed(entries, e, open), groups
}

func closed(entries []Entry, e Entry, open bool) []Entry {
	if open {
		entries = append(entries, e)
	}
	return entries
}

// member is where a key's text goes; nil for "see", which is a list.
func (e *Entry) member(key string) *string {
	return map[string]*string{"means": &e.Means, "revisions": &e.Revisions, "from": &e.From,
		"exit": &e.Exit, "next": &e.Next, "where": &e.Where}[key]
}

// Find gives what a person may mean by a word: one entry, several where it has
// several meanings, those of the protocol first, or none. Numbers need no word before them.
func Find(entries []Entry, word string) (found []Entry) {
	for _, wanted := range readings(word) {
		var exits []Entry
		for _, e := range entries {
			if slices.ContainsFunc(e.Words, func(w string) bool { return folded(w) == wanted }) {
				if e.Group == "exits" {
					exits = append(exits, e)
				} else {
					found = append(found, e)
				}
			}
		}
		if found != nil || exits != nil {
			return append(found, exits...)
		}
	}
	for _, e := range entries {
		if folded(e.Title) == folded(word) {
			found = append(found, e)
		}
	}
	return found
}

// folded makes one word of the ways in which it is written. The parentheses of (conversation) are left out.
func folded(word string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("_", " ", "(", "", ")", "").Replace(strings.ToLower(word))), " ")
}

// readings are the words of the file that a word may stand for, the nearest
// first.
func readings(typed string) []string {
	word := strings.TrimSuffix(folded(typed), ":")
	all := []string{word}
	if name, reserved := strings.CutPrefix(word, "io.modelcontextprotocol/"); reserved {
		return []string{word, name}
	}
	if strings.HasPrefix(word, "mcp-param-") {
		return []string{word, "mcp-param"}
	}
	kind, number, _ := strings.Cut(strings.NewReplacer("code ", "", "status ", "").Replace(word), " ")
	if number == "" {
		kind, number = "", kind
	}
	if strings.HasPrefix(word, "code ") {
		kind = "code"
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return all
	}
	isExit := n >= 0 && n < 100 || n > 128 && n <= 192
	switch {
	case (kind == "exit" || kind == "" && isExit) && n > 128 && n <= 192:
		return append(all, "exit 128+n")
	case kind == "exit" || kind == "" && isExit:
		return append(all, "exit "+strconv.FormatInt(n, 10))
	case kind == "http" || kind == "" && n >= 100 && n < 600:
		return append(all, "http "+number, "http "+strconv.FormatInt(n/100, 10)+"xx")
	case kind == "" && n >= 32000 && n <= 32768: // the sign was left out
		return append(all, "-"+number, rangeOf(-n))
	case kind == "code" || kind == "":
		return append(all, number, rangeOf(n))
	}
	return all
}

// rangeOf is the entry for the JSON-RPC codes that have none of their own.
func rangeOf(code int64) string {
	switch {
	case code <= -32000 && code >= -32019:
		return "-32000..-32019"
	case code <= -32020 && code >= -32099:
		return "-32020..-32099"
	case code <= -32100 && code >= -32768:
		return "-32100..-32768"
	}
	return "application code"
}
