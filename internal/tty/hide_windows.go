package tty

import (
	"os"

	"golang.org/x/sys/windows"
)

// Hide turns off the echo of the console f until show is called. Call it before the prompt: pasted
// text would be visible at once.
func Hide(f *os.File) (show func(), err error) {
	console := windows.Handle(f.Fd())
	var before uint32
	if err := windows.GetConsoleMode(console, &before); err != nil {
		return nil, err
	}
	mode := before&^windows.ENABLE_ECHO_INPUT | windows.ENABLE_PROCESSED_INPUT | windows.ENABLE_LINE_INPUT
	if err := windows.SetConsoleMode(console, mode); err != nil {
		return nil, err
	}
	return func() { _ = windows.SetConsoleMode(console, before) }, nil
}
