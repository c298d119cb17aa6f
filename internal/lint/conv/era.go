package conv

import "slices"

// A Rev is a revision of the protocol. Revisions are ordered by date; Unknown is the lowest.
type Rev int

// The revisions, named as in the rule table.
const (
	Unknown Rev = iota
	Rev20241105
	Rev20250326
	Rev20250618
	Rev20251125
	Rev20260728
)

var (
	revisions = [...]string{"", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
	shorts    = [...]string{"?", "24", "25m", "25a", "25b", "26"}
)

// String returns the date that names the revision, or "" if r is Unknown.
func (r Rev) String() string { return revisions[r] }

// Short returns the name in the rule table, such as "25a".
func (r Rev) Short() string { return shorts[r] }

// ParseRev parses a protocolVersion. An unlisted date counts as the newest revision before it, a
// date before the first revision as the first. Any other text is Unknown.
func ParseRev(text string) Rev {
	if !isDate(text) {
		return Unknown
	}
	for r := Rev20260728; r > Rev20241105; r-- {
		if text >= revisions[r] {
			return r
		}
	}
	return Rev20241105
}

// ParseShort parses a name of the rule table. It returns false if text is no such name.
func ParseShort(text string) (Rev, bool) {
	i := slices.Index(shorts[:], text)
	return Rev(max(i, 0)), i > 0
}

func isDate(text string) bool {
	if len(text) != len("2006-01-02") {
		return false
	}
	for i, c := range []byte(text) {
		isValid := c >= '0' && c <= '9'
		if i == 4 || i == 7 {
			isValid = c == '-'
		}
		if !isValid {
			return false
		}
	}
	return true
}
