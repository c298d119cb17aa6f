// Package rows reads recordings. A Capture has a Row for each exchange, which gives access to its frames. An
// index file keeps the rows of a large recording for the next time. Stats are statistics of rows.
//
// A recording may come from an untrusted source: the limits of live traffic apply to it, and nothing in it is
// executed or contacted.
package rows
