package target

import (
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// findInTOML returns the command of a server in a TOML file with its position. The server can be a
// table, dotted names, or an inline table. Its error is an *EntryError, as in findEntry.
func (c Client) findInTOML(text []byte, server string) (*entry, error) {
	var doc map[string]any
	if err := toml.Unmarshal(text, &doc); err != nil {
		return nil, &EntryError{Text: tomlError(err).Error()}
	}
	for _, step := range c.Member {
		doc, _ = doc[step].(map[string]any)
	}
	if _, found := doc[server]; !found {
		return nil, c.missingServerError(server, slices.Sorted(maps.Keys(doc)))
	}
	// Unmarshal has checked the syntax and the names, but has no positions: the parser has.
	s := tomlSearch{text: text, server: append(slices.Clone(c.Member), server)}
	s.parser.Reset(text)
	var table []string
	for s.parser.NextExpression() {
		switch n := s.parser.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = keysOf(n)
		case unstable.KeyValue:
			const inBraces = false
			s.visit(table, n, inBraces)
		}
	}
	if s.found.command == "" {
		return nil, missingCommandError(server)
	}
	if s.invalidArgs {
		return nil, invalidArgsError(server)
	}
	return &s.found, nil
}

// A tomlSearch finds the command and args of one server.
type tomlSearch struct {
	text        []byte
	parser      unstable.Parser
	server      []string
	found       entry
	invalidArgs bool
}

func keysOf(n *unstable.Node) []string {
	var keys []string
	for it := n.Key(); it.Next(); {
		keys = append(keys, string(it.Node().Data))
	}
	return keys
}

// visit reads a name and its value, and records them if they are the server's command or args.
// table has the names of the tables around it. inBraces is set inside an inline table.
func (s *tomlSearch) visit(table []string, n *unstable.Node, inBraces bool) {
	path := append(slices.Clone(table), keysOf(n)...)
	value := n.Value()
	if value.Kind == unstable.InlineTable {
		for it := value.Children(); it.Next(); {
			if child := it.Node(); child.Kind == unstable.KeyValue {
				const inBraces = true
				s.visit(path, child, inBraces)
			}
		}
		return
	}
	last := len(path) - 1
	if !slices.Equal(path[:last], s.server) {
		return
	}
	switch path[last] {
	case "command":
		if value.Kind == unstable.String {
			s.found.command = string(value.Data)
			s.found.commandAt = spanOf(value)
			s.found.formatArgs = s.argsFormat(n, inBraces)
		}
	case "args":
		s.readArgs(n, value)
	}
}

func spanOf(n *unstable.Node) span {
	return span{int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)}
}

// readArgs records the strings of an array, or that the value is not such an array. n is the name
// with its value.
func (s *tomlSearch) readArgs(n, value *unstable.Node) {
	if value.Kind != unstable.Array {
		s.invalidArgs = true
		return
	}
	// The parser has no offset of an array: it starts at the first bracket after the name.
	nameEnd := spanOf(lastKey(n)).to
	from := nameEnd + strings.IndexByte(string(s.text[nameEnd:]), '[')
	s.found.args = span{from, from + 1} // the bracket: only its place is needed
	for it := value.Children(); it.Next(); {
		item := it.Node()
		if item.Kind != unstable.String {
			s.invalidArgs = true
			return
		}
		s.found.words = append(s.found.words, string(item.Data))
		s.found.items = append(s.found.items, spanOf(item))
	}
}

func lastKey(n *unstable.Node) *unstable.Node {
	var last *unstable.Node
	for it := n.Key(); it.Next(); {
		last = it.Node()
	}
	return last
}

// argsFormat returns a function that formats the member args for insertion after the command, in
// the style of the command: on a separate line or in braces, with the same dotted prefix.
func (s *tomlSearch) argsFormat(n *unstable.Node, inBraces bool) func(string) string {
	first := n.Key()
	first.Next()
	from := spanOf(first.Node()).from
	name := spanOf(lastKey(n)).from // of the word command, after a dotted prefix
	before := ", "
	if !inBraces {
		line := strings.LastIndexByte(string(s.text[:from]), '\n') + 1
		before = "\n" + string(s.text[line:from])
		if strings.Contains(string(s.text), "\r\n") {
			before = "\r" + before
		}
	}
	lead := before + string(s.text[from:name])
	return func(words string) string { return lead + "args = [" + words + "]" }
}
