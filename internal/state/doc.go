// Package state stores what mcpc remembers between two runs: sessions, the tasks that
// servers still work on, tool lists, the revisions that servers support, and the next
// request id of each session.
//
// It is one directory, by default $XDG_STATE_HOME/mcpc:
//
//	state.json      sessions, the current session, tasks; replaced as a whole
//	trusted.json    hashes of what the user approved in other programs' files
//	state.lock      the lock; contains the process id of its last owner
//	ids/KEY         a session's request ids: 22 bytes, rewritten in place
//	tools/HASH      a tool list, with the bytes of each definition as they were received
//	pins/HASH       the tools of a server that the user approved
//	held/NAME.sock  sockets of keep processes, which delete them
//	verdicts/HASH   the revision that a server supports
//
// Tools and verdicts are caches: their size is limited, they are not synced, and a command
// reads only the files that it needs, so that ten thousand tools do not slow down other
// commands.
//
// Readers take no lock and see the last complete state.json. Writers take the lock, load
// the state, change it, write a new file and rename it to the old name, so that a process
// killed at any point leaves the old state or the new one. A file that cannot be parsed is
// never overwritten or deleted. Directories have mode 0700 and files 0600; a symbolic link
// or another user's directory is refused.
//
// The package does not know what sessions, tools and revisions mean. It opens no
// connection, reads no clock and no environment (the xdg library finds the default
// directory) and prints nothing. Errors contain no session ids, which are like
// credentials.
package state
