// Package k6 writes load tests for k6: a script and a file with the calls that it makes. The
// script is always the same but for one constant, so that nothing from a server is ever read as
// JavaScript.
package k6
