// Package bundle writes and reads bundles: one file with a redacted recording that a
// colleague can look at. A bundle is a web page that needs no program and no network, and
// at the same time a zip archive, which mcpc opens as the capture in it. docs/capture.md
// describes the format.
//
// A bundle may come from an untrusted source: only members of known names are read, up to limits,
// and no path that the bundle names is written to.
package bundle
