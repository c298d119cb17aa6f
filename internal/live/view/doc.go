// Package view makes documents of the rows of a live.Store: tables, conversations, one exchange,
// tools, streams, secrets. The terminal, the page and the MCP server of mcpc inspect show the
// same documents; the page gets them as JSON.
package view
