package session

import (
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/card"
	"mcpc/internal/connect/host"
	"mcpc/internal/sliceutil"
)

// Choose returns the way to use the server that pick, one number, selects. If pick is empty, it
// returns the only usable way: of the remote endpoints if there is one, because they install no
// package. lines is nil after a choice; otherwise it is the list to choose from, of at most maxLines
// if pick is empty.
func (f FoundCard) Choose(pick []int) (choice card.Choice, lines []string) {
	all := f.Server.Choices
	var usable []card.Choice
	for i, c := range all {
		plan, err := card.Resolve(c, card.Values{}) // without values: inputs stay references
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
	if len(pick) > 0 { // no way has this number, or a way has no list of its own to pick from
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
