package session

import (
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/card"
	"mcpc/internal/connect/host"
	"mcpc/internal/sliceutil"
)

// Choose returns the way to use the server that pick names, or else the only one that can be
// used: a remote one is preferred to packages, of which nothing then is installed. Where there are
// several, or pick is wrong, it returns the list to choose from.
func (f FoundCard) Choose(pick []int) (choice card.Choice, lines []string) {
	all := f.Server.Choices
	var usable []card.Choice
	for i, c := range all {
		plan, err := card.Resolve(c, card.Values{})
		line := strings.TrimSpace(
			plan.Kind + " " + plan.URL + strings.Join(
				sliceutil.Map(plan.Command, func(word string) string { return host.ShownWord(word) + " " }),
				"",
			),
		)
		if err != nil {
			line += " (" + err.Error() + ")"
		} else {
			usable = append(usable, c)
		}
		lines = append(lines, fmt.Sprintf("%s%d\t%s", f.Prefix, i+1, line))
	}
	if slices.ContainsFunc(usable, func(c card.Choice) bool { return c.Remote }) {
		usable = slices.DeleteFunc(usable, func(c card.Choice) bool { return !c.Remote })
	}
	switch {
	case len(pick) == 1 && pick[0] <= len(all):
		return all[pick[0]-1], nil
	case len(pick) > 0:
		return choice, lines
	case len(all) == 1: // it says itself why it cannot be used
		return all[0], nil
	case len(usable) == 1:
		return usable[0], nil
	}
	return choice, lines[:min(len(lines), mostLines)]
}
