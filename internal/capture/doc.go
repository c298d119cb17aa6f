// Package capture writes recordings of MCP traffic: the format, the Recorder, and the directory in which every run is
// kept (Ring). docs/capture.md describes the format. Package rows reads recordings, filter selects rows, har and bundle
// export them.
//
// A Recorder is a wire.Tap. It hides secrets in what it writes, and never fails its caller.
package capture
