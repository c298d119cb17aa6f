// Package house has tests of the source: the allowed imports of each package, names that only
// certain files may use, phrases that no text may have, and compilation for other systems.
// docs/dev/architecture.md has the reasons.
package house
