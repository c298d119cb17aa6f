package connect

import (
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// SuggestKind returns a hint if a thing of another kind has this name, as far as cached lists tell,
// or if the name is a URI. Returns "" otherwise.
func (c *Conn) SuggestKind(k Kind, name string) wire.Hint {
	for i, command := range []string{"call ", "prompt ", "read ", "read "} { // in the order of Kinds
		if Kinds[i] == k { // the name was just looked for among these
			continue
		}
		for _, entry := range c.RememberedEntries(Kinds[i]) {
			shownName, _ := jsonraw.Text(jsonraw.First(entry.Raw, "name")) // entry.Name may be a URI
			if entry.Name == name || shownName == name {
				return "there is a " + wire.Hint(Kinds[i].One) + " with this name: " +
					wire.RunOnServer(command+shellwords.Quote(entry.Name))
			}
		}
	}
	if strings.Contains(name, "://") {
		return "for a resource: " + wire.RunOnServer("read "+shellwords.Quote(name))
	}
	return ""
}

// RememberedEntries returns the entries of a list that an earlier command cached. It sends nothing.
func (c *Conn) RememberedEntries(k Kind) []state.Tool {
	if !c.cachesKind(k) {
		return nil
	}
	list, err := c.Store.Tools(c.listKey(k))
	if err != nil || list == nil {
		return nil
	}
	return list.Tools
}

// RememberedNames returns the names of RememberedEntries.
func (c *Conn) RememberedNames(k Kind) []string {
	return sliceutil.Map(c.RememberedEntries(k), func(entry state.Tool) string { return entry.Name })
}
