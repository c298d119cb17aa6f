// Package render shows results, lists and definitions. The packages below it show everything else:
// terminals (term), failures (failure), messages (traffic), run reports (report), verdicts on
// servers (verdict), values of jq expressions (jq), commands in hints (hint). These are the rules
// of all output:
//
// Standard output has the result and nothing else. Everything about the result (progress, warnings,
// hints, "no tools") goes to standard error. So a function that has nothing to show writes nothing.
//
// A pipe is read by a program: it gets the server's own bytes. Each text or JSON document ends with
// exactly one line end, without colour, indentation or ornament. Tables become lines of cells with
// a TAB between them, without a head.
//
// A terminal is read by a person: texts as texts, JSON indented, tables aligned and cut to the
// width. A cut text says how much is missing.
//
// Nothing that a server wrote reaches a terminal unsanitized, with or without colour or --json: see
// term.Line, term.Block and JSON. Layouts of mcpc's own (tables, Describe) are sanitized for a pipe
// too, because a line end in a name would be another row. If a user requests colour for a pipe, a
// pager reads it, so it gets what a terminal gets; --json prints the server's bytes even then.
//
// Colours come from the 16 of the user's palette and are never the only sign of anything. In the C
// locale mcpc's own ornaments are ASCII; data does not change.
//
// These packages read no clock and no environment and open no file: term.Style has all that they
// know about the stream. They do not judge what they show.
package render
