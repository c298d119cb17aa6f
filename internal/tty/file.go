package tty

import "os"

// File returns the file that a standard stream is, or nil if it is none, as a buffer in a test.
func File(stream any) *os.File {
	f, _ := stream.(*os.File)
	return f
}
