package render

import "mcpc/internal/wire"

// Nearest is wire.Nearest.
func Nearest(word string, known []string) string { return wire.Nearest(word, known) }
