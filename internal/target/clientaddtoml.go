package target

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// addToTOML appends a table with this path to the file. It fails if the file cannot be parsed.
func addToTOML(text []byte, path, argv []string) ([]byte, error) {
	var doc map[string]any
	if err := toml.Unmarshal(text, &doc); err != nil {
		return nil, &EntryError{Text: tomlError(err).Error()}
	}
	lines := lineEnd(text)
	names := make([]string, len(path))
	for i, name := range path {
		names[i] = name
		if name == "" || !hasOnly(name, nameCharacters) {
			names[i] = quote(name)
		}
	}
	table := fmt.Sprintf("[%s]%scommand = %s%sargs = %s",
		strings.Join(names, "."), lines, quote(argv[0]), lines, quoteList(argv[1:]))
	switch {
	case len(text) == 0:
		table += lines
	case bytes.HasSuffix(text, []byte("\n")):
		table = lines + table + lines
	default: // the new last line has no end either
		table = lines + lines + table
	}
	return append(bytes.Clone(text), table...), nil
}

// removeFromTOML deletes the table with this path and the tables in it that follow, and the empty
// line before it. Comments before the next table stay. It changes nothing if there is no such table.
func removeFromTOML(text []byte, path []string) ([]byte, error) {
	var p unstable.Parser
	p.Reset(text)
	removed := span{-1, len(text)}
	for p.NextExpression() {
		n := p.Expression()
		if n.Kind != unstable.Table && n.Kind != unstable.ArrayTable {
			continue
		}
		first := n.Key()
		first.Next()
		line := bytes.LastIndexByte(text[:spanOf(first.Node()).from], '\n') + 1
		keys := keysOf(n)
		isInside := len(keys) >= len(path) && slices.Equal(keys[:len(path)], path)
		if isInside && removed.from < 0 {
			removed.from = line
		}
		if !isInside && removed.from >= 0 {
			removed.to = line
			break
		}
	}
	if removed.from < 0 {
		return text, nil
	}
	removed.to = removed.from + lengthWithoutComments(text[removed.from:removed.to])
	before := text[:removed.from]
	blank := []byte("\n")
	if bytes.HasSuffix(before, []byte("\r\n\r\n")) {
		blank = []byte("\r\n")
	}
	isEmptyLineBefore := bytes.HasSuffix(before, slices.Concat([]byte("\n"), blank))
	if isEmptyLineBefore {
		removed.from -= len(blank)
	}
	isWithoutEnd := removed.to == len(text) && !bytes.HasSuffix(text, []byte("\n"))
	if isEmptyLineBefore && isWithoutEnd { // addToTOML ended the line before
		removed.from -= len(blank)
	}
	return splice(text, edit{removed, ""}), nil
}

// lengthWithoutComments returns the length of text without the empty lines and comments at its end.
func lengthWithoutComments(text []byte) int {
	length := len(text)
	for length > 0 {
		line := bytes.LastIndexByte(text[:length-1], '\n') + 1
		content := bytes.TrimSpace(text[line:length])
		if len(content) > 0 && content[0] != '#' {
			break
		}
		length = line
	}
	return length
}
