// Package report formats the changes that package diff found: as styled text, side by side, as
// JSON, as Markdown and as GitHub annotations. All formats show the changes of one Report. Callers
// map each Role to a colour.
//
// Text of a server is sanitized first (package sanitize), so that it cannot end a line, a table or
// a code block.
package report

import (
	"fmt"
	"strings"

	"mcpc/internal/diff"
	"mcpc/internal/diff/accept"
	"mcpc/internal/english"
)

// A Report holds the changes and their context for all formats.
type Report struct {
	// A and B name the two sides as the user typed them.
	A, B string
	// Changes are in the order of diff.Compare and include accepted changes.
	Changes []diff.Change
	// Tools are the tools whose cost changed, and Sum is the cost of all tools.
	Tools []diff.Growth
	Sum   diff.Growth
	// Expired and Stale are entries of the file of accepted changes, AcceptFile.
	Expired, Stale []accept.Entry
	AcceptFile     string
	// Compared are the compared parts, if some parts were not compared, else nil.
	Compared []string
}

// Counts holds the number of accepted changes, and of the other changes by level.
type Counts struct {
	Breaking int `json:"breaking"`
	Risky    int `json:"risky"`
	Harmless int `json:"harmless"`
	Accepted int `json:"accepted"`
}

// Count counts the changes of a report.
func (r Report) Count() Counts {
	var n Counts
	for _, c := range r.Changes {
		switch {
		case c.Accepted != "":
			n.Accepted++
		case c.Level == diff.Breaking:
			n.Breaking++
		case c.Level == diff.Risky:
			n.Risky++
		default:
			n.Harmless++
		}
	}
	return n
}

// Summary returns one line with the counts of changes and of expired and stale acceptances.
func (r Report) Summary() string {
	n := r.Count()
	if len(r.Changes)+len(r.Expired)+len(r.Stale) == 0 {
		if r.Compared != nil {
			return "nothing changed in the compared parts: " + strings.Join(r.Compared, ", ")
		}
		return "nothing changed"
	}
	parts := []string{
		fmt.Sprintf("%d breaking", n.Breaking),
		fmt.Sprintf("%d risky", n.Risky),
		fmt.Sprintf("%d harmless", n.Harmless),
	}
	if n.Accepted > 0 {
		parts = append(parts, fmt.Sprintf("%d accepted", n.Accepted))
	}
	if len(r.Expired) > 0 {
		parts = append(parts, english.Plural(len(r.Expired), "expired acceptance"))
	}
	if len(r.Stale) > 0 {
		parts = append(parts, english.Plural(len(r.Stale), "stale acceptance"))
	}
	return strings.Join(parts, ", ")
}

// growthLine returns the line about the cost of the tools, or "" if the cost did not change.
func (r Report) growthLine() string {
	if r.Sum.Was == r.Sum.Is {
		return ""
	}
	return fmt.Sprintf(
		"the tools take %d tokens of a model's context, before %d (%+.0f %%)",
		r.Sum.Is.Tokens, r.Sum.Was.Tokens, r.Sum.Percent(),
	)
}

// sentence returns the text of a change with its subject.
func sentence(c diff.Change) string { return c.Subject.String() + ": " + c.Text }

// acceptanceText returns the reason and the last day of an accepted change, or "".
func acceptanceText(c diff.Change) string {
	if c.Accepted == "" {
		return ""
	}
	return "accepted until " + c.Until + ": " + c.Accepted
}

// notes returns a sentence with a place for each expired or stale entry.
func (r Report) notes() []string {
	var all []string
	for _, e := range r.Expired {
		all = append(
			all,
			fmt.Sprintf("%s:%s: the acceptance of %s ended on %s", r.AcceptFile, e.Place, e.Fingerprint, e.Until),
		)
	}
	for _, e := range r.Stale {
		all = append(
			all,
			fmt.Sprintf(
				"%s:%s: the acceptance of %s is stale: the change no longer exists",
				r.AcceptFile, e.Place, e.Fingerprint,
			),
		)
	}
	return all
}
