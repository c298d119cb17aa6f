package rows

import "slices"

// Settle lets go of what only reading on needs, and of the rows that are not to be kept; nil
// keeps all. It is for a capture of one run to which nothing is added any more: Row and RowIn do
// not find its rows afterwards.
func (c *Capture) Settle(keep func(*Row) bool) {
	c.index, c.marked = nil, nil
	if keep != nil {
		c.all = slices.Clip(slices.DeleteFunc(slices.Clone(c.Rows()), func(r *Row) bool { return !keep(r) }))
	}
}
