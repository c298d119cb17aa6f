//go:build !linux

package client

import "net"

// sameUser: only Linux tells who is at the other end without more than the standard
// library; elsewhere the mode of the socket and of its directory keep others away.
func sameUser(net.Conn) error { return nil }
