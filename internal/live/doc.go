// Package live keeps the rows of recordings while they grow: of the ring, of one file, of a
// bundle. A Store reads on, folds what came into rows, finds those that fit a filter, and wakes
// those that wait for a change. It holds no bodies: they are read from the file when a view
// wants them. Package view makes of its rows what the terminal and the page show.
package live
