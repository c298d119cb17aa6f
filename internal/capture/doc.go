// Package capture writes recordings of MCP traffic. It has the format of captures, the Recorder, and the
// Ring, which is the directory with the recordings of all runs. docs/reference/capture-format.md describes
// the format. Package rows reads recordings, filter selects rows, har and bundle export them.
//
// A Recorder is a wire.Tap. It hides secrets in everything that it writes, and never makes its caller fail.
package capture
