// Package lineedit is a prompt: a line that a person types, edits and completes at a
// terminal, and how a line falls into words.
//
// It is the one door to peterh/liner, which edits, and to mvdan.cc/sh, which reads
// words as a POSIX shell does. It runs nothing, and does not know what a word means
// or where lines are kept.
package lineedit
