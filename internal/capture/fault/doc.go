// Package fault has fault rules: what is done to which messages between a client and a server
// in order to see what the client does then. It reads rules, decides about messages, and edits
// them; capture/forward applies it to HTTP and stdio. Report judges the client by the frames of
// a recording.
package fault
