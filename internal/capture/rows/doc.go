// Package rows reads recordings: the rows of a Capture, one for each exchange, with their frames, the index that keeps
// them for the next look, and statistics.
//
// A recording may come from an untrusted source: it is held to the limits of live traffic, and nothing in it
// is executed or contacted.
package rows
