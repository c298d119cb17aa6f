package network

import (
	"errors"
)

// IsReset reports whether err means that the connection was reset or aborted.
func IsReset(err error) bool { return errors.Is(err, connReset) || errors.Is(err, connAborted) }
