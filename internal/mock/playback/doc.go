// Package playback plays the server of a recording to any client: over stdio and Streamable HTTP, in both eras of
// the protocol, whichever the recording was made in.
//
// A Player finds the recorded exchange that a live request repeats, and plays it: notifications, requests of the
// server and the response come in the recorded order, with the recorded bytes. Where the live client speaks the
// other era, a request of the server becomes a round of input_required and the other way round, and members of the
// protocol are added or removed. What has no counterpart is answered with an error and reported once.
//
// A recording is hostile: nothing in it is executed or contacted.
package playback
