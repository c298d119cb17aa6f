// Package demo is the built-in demo server: a small MCP server with tools for every channel, for
// tutorials, tests and the first call of a new user.
//
// It is built on the official Go SDK, and no other package uses the SDK. mcpc's client is thereby
// tested with an independent server. Tools are added with the SDK's low-level Server.AddTool,
// because the typed function decodes arguments into Go values and changes 9007199254740993 to …992.
//
// Names, titles and texts follow npm's server-everything where possible without a network, so that
// tutorials for it remain valid. The result of a tool depends only on its arguments: there is no
// clock, no randomness and no state, except for the entry that the tool change-list adds to a list
// until the process ends.
//
// With [Options.Tasks] the server has the tasks of 2026-07-28 too. It has no tasks of 2025-11-25,
// because the SDK's v1.8.0 drops params.task.
//
// The package does not depend on mcpc: it has no targets, no sessions, no recorder and no terminal.
// It opens no sockets and starts no processes; the caller of [Serve] and [Handler] does.
package demo
