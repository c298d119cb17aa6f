package tty

import "os"

// File returns the file of a standard stream, or nil if it is not a file, such as a buffer in a
// test.
func File(stream any) *os.File {
	f, _ := stream.(*os.File)
	return f
}
