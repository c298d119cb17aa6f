// Package render shows results, lists and definitions. What else a person or a pipe
// sees is in the packages below it: terminals (term), failures (failure), messages
// (traffic), run reports (report), JSON Schemas (schema), values of jq expressions (jq).
// These are the rules of all output:
//
// Standard output is the answer, and nothing else. What is about the answer
// (the channel, progress, warnings, hints, "no tools") goes to standard error.
// So a function here that has nothing to show writes nothing.
//
// A pipe is another program: it gets the server's own bytes, each text or JSON
// document closed by exactly one line end, no colour, no indentation, no
// ornament. Tables become lines of cells with a TAB between them, without head.
//
// A terminal is a person: text as text, JSON indented, tables aligned and cut to
// the width. What is cut says how much is missing.
//
// Nothing that a server wrote reaches a terminal unsanitized, also where colour
// is off, also in --json: see term.Line, term.Block and JSON. Layouts of mcpc's own (the
// tables, Describe) are sanitized into a pipe too, because there a line end in a
// name would be another row. Colour requested for a pipe means that the user reads
// it through a pager, so it gets what a terminal gets; --json stays the server's
// bytes even then.
//
// Colour is the sixteen of the person's own palette and never the only sign of
// anything. In the C locale mcpc's own ornaments are ASCII; data is not touched.
//
// These packages read no clock and no environment and open no file: a term.Style says
// all that they know of the world. They do not judge what they show.
package render
