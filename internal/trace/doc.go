// Package trace keeps traffic and gives it back: the capture format, the recorder
// that writes it, the ring of files in which every run is kept, the rows that a
// person reads, and the watcher and the proxy that see what crosses between others.
// docs/capture.md describes the format.
//
// It does not know how mcpc's own conversations are led, how anything looks on a
// terminal, or where a user's state is: a Recorder is a wire.Tap, and a Reader gives
// back wire.Frames. What it reads may come from a stranger: it is held to the limits
// of live traffic, and nothing in it is executed or contacted.
package trace
