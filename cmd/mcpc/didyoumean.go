package main

import (
	"mcpc/internal/glossary"
	"mcpc/internal/render"
)

// didYouMean is the hint for a word that is none of those that are known: the one that
// was perhaps meant, with what stands before and behind it, or what else leads on.
// Nothing is ever corrected by itself.
func didYouMean(before, typed, behind string, known []string, otherwise string) string {
	if near := render.Nearest(typed, known); near != "" {
		return "did you mean " + before + near + behind + "?"
	}
	return otherwise
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

// rememberedNames are those of a list that an earlier run kept; looking costs no
// request.
func (c *conversation) rememberedNames(k kind) (names []string) {
	if c.saved == nil {
		return nil
	}
	list, err := c.store.Tools(c.listKey(k))
	if err != nil || list == nil {
		return nil
	}
	for _, entry := range list.Tools {
		names = append(names, entry.Name)
	}
	return names
}
