// Package k6 writes load tests for k6: a script and a file with its calls. Only one constant of the
// script varies, so that no text from a server is interpreted as JavaScript.
package k6
