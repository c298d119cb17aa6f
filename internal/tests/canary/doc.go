// Package canary tests that secrets are neither stored nor shown. Every place of a conversation has
// a canary, and the tests search all output of mcpc for it. The commands run in the process of the
// tests, and their servers as processes. mcpc runs as a process in the tests where it crashes or is
// killed during a call.
package canary
