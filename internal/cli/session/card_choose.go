package session

import (
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/card"
	"mcpc/internal/connect/host"
	"mcpc/internal/sliceutil"
)

// Choose returns the way to use the server that pick selects, or else the only usable one. It
// prefers remote endpoints, because they install no package. It returns the list to choose from if
// there are several, or if pick is not in the list.
func (f FoundCard) Choose(pick []int) (choice card.Choice, lines []string) {
	all := f.Server.Choices
	var usable []card.Choice
	for i, c := range all {
		plan, err := card.Resolve(c, card.Values{})
		words := sliceutil.Map(plan.Command, host.ShownWord)
		line := strings.TrimSpace(plan.Kind + " " + plan.URL + strings.Join(words, " "))
		if err != nil {
			line += " (" + err.Error() + ")"
		} else {
			usable = append(usable, c)
		}
		lines = append(lines, fmt.Sprintf("%s%d\t%s", f.Prefix, i+1, line))
	}
	if slices.ContainsFunc(usable, func(c card.Choice) bool { return c.IsRemote }) {
		usable = slices.DeleteFunc(usable, func(c card.Choice) bool { return !c.IsRemote })
	}
	if len(pick) == 1 && pick[0] <= len(all) {
		return all[pick[0]-1], nil
	}
	if len(pick) > 0 {
		return choice, lines
	}
	if len(all) == 1 { // if it cannot be used, its own error says why
		return all[0], nil
	}
	if len(usable) == 1 {
		return usable[0], nil
	}
	return choice, lines[:min(len(lines), maxLines)]
}
