//go:build !linux && !darwin

package state

// bootID is "": nothing is known here that names a boot, so that each
// reservation of ids is synced.
func bootID() string { return "" }
