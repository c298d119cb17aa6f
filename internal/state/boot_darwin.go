package state

import (
	"strings"
	"syscall"
)

// bootID names this run of the operating system, or is "".
func bootID() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil || len(id) != 36 || strings.Trim(id, "0123456789ABCDEFabcdef-") != "" {
		return ""
	}
	return id
}
