// Package process runs a stdio server as a child process in its own process group, or job on
// Windows, and ends it and the processes that it started.
package process
