package connect

import (
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// SuggestKind says what a name is the name of that nothing of one kind has, as far as
// is remembered, and the command for it; "" where it does not tell.
func (c *Conn) SuggestKind(k Kind, name string) wire.Hint {
	for i, command := range []string{"call ", "prompt ", "read ", "read "} {
		for _, entry := range c.RememberedEntries(Kinds[i]) {
			if title, _ := jsonraw.Text(jsonraw.First(entry.Raw, "name")); Kinds[i] != k &&
				(entry.Name == name || title == name) {
				return "there is a " + wire.Hint(
					Kinds[i].One,
				) + " with this name: " + wire.RunOnServer(
					command+shellwords.Quote(entry.Name),
				)
			}
		}
	}
	if strings.Contains(name, "://") {
		return "for a resource: " + wire.RunOnServer("read "+shellwords.Quote(name))
	}
	return ""
}

// RememberedEntries are those of a list that an earlier run kept; looking costs no
// request.
func (c *Conn) RememberedEntries(k Kind) []state.Tool {
	if !c.remembers(k) {
		return nil
	}
	list, err := c.Store.Tools(c.listKey(k))
	if err != nil || list == nil {
		return nil
	}
	return list.Tools
}

func (c *Conn) RememberedNames(k Kind) []string {
	return sliceutil.Map(c.RememberedEntries(k), func(entry state.Tool) string { return entry.Name })
}
