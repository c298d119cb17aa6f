// Package state is what mcpc remembers between two runs: sessions, the tasks
// that servers still work on, the tool lists of servers, which revision a server
// was found to speak, and the next request id of each session.
//
// It is one directory, by default $XDG_STATE_HOME/mcpc:
//
//	state.json      sessions, the current one, tasks; replaced whole, never edited
//	trusted.json    hashes of what the user confirmed of other programs' files
//	state.lock      the one lock; holds the process id of its last holder
//	ids/KEY         a session's request ids: 22 bytes, rewritten in place
//	tools/HASH      a remembered tool list, with the bytes of each definition as they were received
//	held/NAME.sock  sockets of the processes that hold servers, which remove them
//	verdicts/HASH   which revision a server was found to speak
//
// Tools and verdicts are caches: bounded, not synced, and read only when asked for,
// so that neither ten thousand tools nor two hundred servers cost a command
// anything that does not need them.
//
// The rules: readers take no lock and see the last whole state.json. Writers
// take the lock, load, change, write a new file and rename it over the old one,
// so that a process killed at any point leaves the old state or the new one. A
// file that cannot be understood is never overwritten and never deleted.
// Directories that mcpc makes are 0700 and files 0600; a symbolic link or
// another user's directory is refused.
//
// The package does not know what a session is for, what a tool is, which
// revisions exist, what time it is, or how an error is shown: it opens no
// connection, reads no clock and no environment (the default directory is what
// the xdg library says) and prints nothing. Session ids are credentials of a
// kind and never stand in an error's text.
package state
