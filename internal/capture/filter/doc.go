// Package filter implements the filter language for the rows of a capture, as in
// "method:tools/call dur:>500ms -is:error". Parse reads a filter and Match applies it. The
// messages of a row are only searched where the row itself does not decide.
package filter
