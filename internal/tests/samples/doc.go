// Package samples has inputs that tests of several packages use: words that a user types as the
// arguments of a tool, and recordings that a stranger wrote.
package samples
