package client

import (
	"fmt"

	"mcpc/internal/wire"
)

// maxTallied bounds how many different things of one conversation are counted:
// their names may be a server's.
const maxTallied = 20

// A tally counts what a server does again and again, in the order of its first
// times.
type tally struct {
	rows []*tallied
}

type tallied struct {
	first wire.Finding
	what  string
	n     int
}

// add counts f and reports whether it is the first of its kind. what are several
// of them: `lines on standard output were no messages`.
func (t *tally) add(f wire.Finding, what string) (first bool) {
	for _, row := range t.rows {
		if row.what == what {
			row.n++
			return false
		}
	}
	if len(t.rows) == maxTallied {
		return false
	}
	t.rows = append(t.rows, &tallied{f, what, 1})
	return true
}

// sums are the findings that say how many there were, where that was not one.
func (t *tally) sums() []wire.Finding {
	var sums []wire.Finding
	for _, row := range t.rows {
		if row.n > 1 {
			sum := row.first
			sum.Text = fmt.Sprintf("%d %s", row.n, row.what)
			sums = append(sums, sum)
		}
	}
	return sums
}
