// Package demo is the built-in demo server: one small MCP server with something
// to try on every channel, for tutorials, tests and the reader's first call.
//
// It stands on the official Go SDK, and it is the only package here that does,
// so that mcpc's hand-written client has an independent peer to be right or
// wrong against. Tools are added with the SDK's low-level Server.AddTool: the
// typed one decodes arguments into Go values on the way and turns
// 9007199254740993 into …992.
//
// Names, titles and texts follow npm's server-everything where that makes
// sense without a network, so that tutorials written against it still hold.
// What a tool answers depends on its arguments and on nothing else: there is
// no clock and no randomness in it, and no memory but for the one entry that the
// tool change-list adds to a list, as long as the process lives.
//
// With [Options.Tasks] it has the tasks of 2026-07-28 too (package tasks). It has no tasks of
// 2025-11-25: the SDK's v1.8.0 drops params.task.
//
// It does not know mcpc: no target, no session store, no recorder, no
// terminal. It does not open a socket or start a process either: the caller of
// [Serve] and [Handler] does.
package demo
