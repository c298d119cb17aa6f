package network

import (
	"errors"
)

// IsReset reports whether err says that the other side has closed the connection.
func IsReset(err error) bool { return errors.Is(err, connReset) || errors.Is(err, connAborted) }
