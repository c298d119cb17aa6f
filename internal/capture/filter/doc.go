// Package filter implements the filter language for the rows of a capture, as in
// "method:tools/call dur:>500ms -is:error". Parse parses a filter and Match applies it. Match reads the
// messages of a row only if the row alone does not decide.
package filter
