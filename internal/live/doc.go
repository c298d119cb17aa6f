// Package live keeps the rows of recordings up to date while the recordings grow. A recording is a
// run of the ring, one file, or a bundle. A Store reads new frames, updates the rows, answers
// queries with a filter, and wakes callers that wait for a change. It holds no message bodies:
// they are read from the file on demand. Package view turns the rows into the documents that the
// terminal and the page show.
package live
