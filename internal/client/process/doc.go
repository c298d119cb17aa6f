// Package process runs a stdio server as a child process, in a process group of its own
// (on Windows a job), and ends it together with what it started.
package process
