package network

import (
	"errors"
)

// IsReset reports whether err means that the other side has reset or aborted the connection.
func IsReset(err error) bool { return errors.Is(err, connReset) || errors.Is(err, connAborted) }
