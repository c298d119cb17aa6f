// Package house has tests of the source: which package may import which, which names only certain
// files may use, which phrases no text has, and that everything compiles for other systems.
// docs/architecture.md has the reasons.
package house
