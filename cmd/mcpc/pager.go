package main

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
)

// pager is the command that shows what is longer than the screen, nil where there is
// none: MCPC_PAGER, then PAGER, then less. Its words are not seen by a shell, and cat is
// no pager.
func (a *app) pager() []string {
	if a.noPager || a.getenv("CI") != "" || a.getenv("TERM") == "dumb" || !a.outStyle.Terminal || a.outStyle.Height <= 0 {
		return nil
	}
	for _, command := range []string{a.getenv("MCPC_PAGER"), a.getenv("PAGER"), "less"} {
		if argv := strings.Fields(command); len(argv) > 0 {
			if argv[0] == "cat" {
				return nil
			}
			return argv
		}
	}
	return nil
}

// writePaged writes a text to standard output, through a pager where it is longer than
// the screen.
func (a *app) writePaged(text []byte) error {
	if a.paged(text) {
		return nil
	}
	_, err := a.stdout().Write(text)
	return err
}

// paged shows a text in a pager where it is longer than the screen, and says whether it
// did: else somebody has to write it.
func (a *app) paged(text []byte) bool {
	argv := a.pager()
	if argv == nil || a.outStyle.Rows(text) < a.outStyle.Height {
		return false
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), a.out, a.err
	cmd.Env = a.environ()
	// What less needs to show colours, to leave the screen as it is, and to end by
	// itself where it is one screen after all; whoever set LESS knows better.
	if a.getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	if a.getenv("LV") == "" {
		cmd.Env = append(cmd.Env, "LV=-c")
	}
	// Ctrl-C is the pager's while it runs, and what the server says meanwhile waits.
	a.paging.Store(true)
	a.progress.Hold()
	err := cmd.Run()
	a.progress.Release()
	a.paging.Store(false)
	var ended *exec.ExitError
	switch {
	case err == nil:
		return true
	case errors.As(err, &ended):
		if ended.Exited() {
			a.warn("the pager " + argv[0] + " ended with " + ended.String() + "; --no-pager prints without a pager")
		}
		return true
	case a.getenv("MCPC_PAGER") != "" || a.getenv("PAGER") != "":
		a.warn("the pager " + argv[0] + " cannot be started: " + bare(err).Error())
	}
	return false
}
