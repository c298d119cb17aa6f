// Package samples has inputs for the tests of several packages: arguments of tool calls, and
// untrusted recordings.
package samples
