// Package capture records MCP traffic and reads it back: the capture format, the recorder
// that writes it, the directory in which every run is kept (Ring), and the rows, one per
// exchange, that are listed from a file. docs/capture.md describes the format. Package
// filter selects rows, har exports them, and forward produces the frames of the traffic
// between a client and a server that mcpc only forwards.
//
// A Recorder is a wire.Tap, and a Capture returns wire.Frames. A capture may come from an
// untrusted source: it is held to the limits of live traffic, and nothing in it is
// executed or contacted.
package capture
