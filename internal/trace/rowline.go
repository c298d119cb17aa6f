package trace

import (
	"cmp"
	"slices"

	"mcpc/internal/wire"
)

// A rowLine is where a frame of a row is in the file, and what it is to the row: so the
// exchange is put together again as it was listed, and not found out a second time from a
// part of the traffic.
type rowLine struct {
	at     int64
	length int32 // a line has at most MaxLine bytes
	item   int32
	role   wire.Role
	guess  bool
}

func newRowLine(s stretch, p wire.Place) rowLine {
	return rowLine{s.at, int32(s.length), int32(p.Item), p.Role, p.Guess}
}

func (l rowLine) stretch() stretch { return stretch{l.at, int(l.length)} }

func (l rowLine) place() wire.Place {
	return wire.Place{Role: l.role, Guess: l.guess, Item: int(l.item)}
}

// stretches are the lines in the order of the file, each once: a request's head comes
// before the body that it was placed by, and of a batch there may be several items.
func (r *Row) stretches() []stretch {
	all := make([]stretch, len(r.lines))
	for i, l := range r.lines {
		all[i] = l.stretch()
	}
	return inOrder(all)
}

// exchange is put together from the row's frames; nil where nothing crossed.
func (r *Row) exchange() (*wire.Exchange, error) {
	lines := slices.Clone(r.lines)
	slices.SortStableFunc(lines, func(a, b rowLine) int { return cmp.Compare(a.at, b.at) })
	var x *wire.Exchange
	next := 0
	err := r.eachLine(func(raw []byte) error {
		line, err := r.frameIn(raw)
		if err != nil {
			return err
		}
		for at := lines[next].at; next < len(lines) && lines[next].at == at; next++ {
			if line == nil {
				continue
			}
			frame, place := *line, lines[next].place()
			if place.Item >= 0 {
				frame.Raw = itemOf(frame.Raw, place.Item)
			}
			if x == nil {
				x = &wire.Exchange{}
			}
			x.Add(frame, place)
		}
		return nil
	})
	return x, err
}

// itemOf is a message of a batch.
func itemOf(batch []byte, item int) []byte {
	items := wire.ParseMessage(batch).Items
	if item >= len(items) {
		return nil
	}
	return items[item].Raw
}
