//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tty

import "errors"

// A Terminal is one that can be asked; here nobody knows how.
type Terminal struct{}

// Open always fails here.
func Open() (*Terminal, error) {
	return nil, errors.New("terminal queries are not supported on this system")
}

// Ask gives no facts.
func (t *Terminal) Ask(int) Facts { return Facts{} }

// Restore does nothing.
func (t *Terminal) Restore() {}

// Close does nothing.
func (t *Terminal) Close() {}
