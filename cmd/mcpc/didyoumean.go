package main

import (
	"strings"

	"mcpc/internal/glossary"
	"mcpc/internal/shellwords"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// didYouMean is the hint for a word that is none of those that are known: the one that
// was perhaps meant, in the place of %s in a form, or what else leads on. Nothing is
// ever corrected by itself.
func didYouMean(form wire.Hint, typed string, known []string, otherwise wire.Hint) wire.Hint {
	if near := wire.Nearest(typed, known); near != "" {
		return "did you mean " + wire.Hint(strings.Replace(string(form), "%s", near, 1)) + "?"
	}
	return otherwise
}

// orMeant is a text about a name that is unknown, with the one that was perhaps meant.
func orMeant(text, name string, known []string) string {
	if near := wire.Nearest(name, known); near != "" {
		return text + "; did you mean " + near + "?"
	}
	return text
}

// methodNames are the methods of the protocol.
func methodNames() (names []string) {
	entries, _ := glossary.Read()
	for _, e := range entries {
		if e.Group == "methods" {
			names = append(names, e.Words...)
		}
	}
	return names
}

// otherwiseNamed says what a name is the name of that nothing of one kind has, as far as
// is remembered, and the command for it; "" where it does not tell.
func (c *conversation) otherwiseNamed(k kind, name string) wire.Hint {
	for i, command := range []string{"call ", "prompt ", "read ", "read "} {
		for _, entry := range c.rememberedEntries(kinds[i]) {
			if title, _ := wire.Text(wire.First(entry.Raw, "name")); kinds[i] != k && (entry.Name == name || title == name) {
				return "there is a " + wire.Hint(kinds[i].one) + " with this name: " + wire.There(command+shellwords.Quote(entry.Name))
			}
		}
	}
	if strings.Contains(name, "://") {
		return "for a resource: " + wire.There("read "+shellwords.Quote(name))
	}
	return ""
}

// rememberedEntries are those of a list that an earlier run kept; looking costs no
// request.
func (c *conversation) rememberedEntries(k kind) []state.Tool {
	if !c.remembers(k) {
		return nil
	}
	list, err := c.store.Tools(c.listKey(k))
	if err != nil || list == nil {
		return nil
	}
	return list.Tools
}

func (c *conversation) rememberedNames(k kind) []string {
	return mapped(c.rememberedEntries(k), func(entry state.Tool) string { return entry.Name })
}
