package cmdutil

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"

	"mcpc/internal/usage"
)

// pager is the command that shows what is longer than the screen, nil where there is
// none: MCPC_PAGER, then PAGER, then less. Its words are not seen by a shell, and cat is
// no pager.
func (f *Factory) pager() []string {
	if f.NoPager || f.Getenv("CI") != "" || f.Getenv("TERM") == "dumb" || !f.OutStyle.Terminal || f.OutStyle.Height <= 0 {
		return nil
	}
	for _, command := range []string{f.Getenv("MCPC_PAGER"), f.Getenv("PAGER"), "less"} {
		if argv := strings.Fields(command); len(argv) > 0 {
			if argv[0] == "cat" {
				return nil
			}
			return argv
		}
	}
	return nil
}

// WritePaged writes a text to standard output, through a pager where it is longer than
// the screen.
func (f *Factory) WritePaged(text []byte) error {
	if f.paged(text) {
		return nil
	}
	_, err := f.Stdout().Write(text)
	return err
}

// paged shows a text in a pager where it is longer than the screen, and reports whether it
// did: else the caller writes it.
func (f *Factory) paged(text []byte) bool {
	argv := f.pager()
	if argv == nil || f.OutStyle.Rows(text) < f.OutStyle.Height {
		return false
	}
	f.Record.WriteWaiting()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), f.Out, f.Err
	cmd.Env = f.Environ()
	// What less needs to show colours, to leave the screen as it is, and to end by
	// itself where it is one screen after all; the user's own LESS takes precedence.
	if f.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	if f.Getenv("LV") == "" {
		cmd.Env = append(cmd.Env, "LV=-c")
	}
	// Ctrl-C is the pager's while it runs, and what the server says meanwhile waits.
	f.Paging.Store(true)
	f.Progress.Hold()
	err := cmd.Run()
	f.Progress.Release()
	f.Paging.Store(false)
	var ended *exec.ExitError
	switch {
	case err == nil:
		return true
	case errors.As(err, &ended):
		if ended.Exited() {
			f.Warn("the pager " + argv[0] + " ended with " + ended.String() + "; --no-pager prints without a pager")
		}
		return true
	case f.Getenv("MCPC_PAGER") != "" || f.Getenv("PAGER") != "":
		f.Warn("the pager " + argv[0] + " cannot be started: " + usage.Bare(err).Error())
	}
	return false
}
