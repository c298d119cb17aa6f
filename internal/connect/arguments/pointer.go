package arguments

import (
	"strings"
)

// Pointer is a JSON pointer to a member (RFC 6901).
func Pointer(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
