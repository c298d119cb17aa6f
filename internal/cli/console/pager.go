package console

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"

	"mcpc/internal/usage"
)

// Pager returns the command that shows a text longer than the screen: MCPC_PAGER, then PAGER, then less. Returns nil
// without a terminal, or if the command is cat. No shell sees its words.
func (c *Console) Pager() []string {
	if c.NoPager || c.env.Getenv("CI") != "" || c.env.Getenv("TERM") == "dumb" || !c.OutStyle.Terminal ||
		c.OutStyle.Height <= 0 {
		return nil
	}
	for _, command := range []string{c.env.Getenv("MCPC_PAGER"), c.env.Getenv("PAGER"), "less"} {
		if argv := strings.Fields(command); len(argv) > 0 {
			if argv[0] == "cat" {
				return nil
			}
			return argv
		}
	}
	return nil
}

// ShowPaged shows a text in a pager if it is longer than the screen, and reports whether it did: else the caller writes
// it.
func (c *Console) ShowPaged(text []byte) bool {
	argv := c.Pager()
	if argv == nil || c.OutStyle.Rows(text) < c.OutStyle.Height {
		return false
	}
	c.env.Record.WriteWaiting()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = bytes.NewReader(text)
	cmd.Stdout = c.Out
	cmd.Stderr = c.Err
	cmd.Env = c.env.Environ()
	// What less needs to show colours, to leave the screen as it is, and to end by
	// itself where it is one screen after all; the user's own LESS takes precedence.
	if c.env.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	if c.env.Getenv("LV") == "" {
		cmd.Env = append(cmd.Env, "LV=-c")
	}
	// Ctrl-C is the pager's while it runs, and what the server says meanwhile waits.
	c.Paging.Store(true)
	c.Progress.Hold()
	err := cmd.Run()
	c.Progress.Release()
	c.Paging.Store(false)
	var ended *exec.ExitError
	if err == nil {
		return true
	}
	if errors.As(err, &ended) {
		if ended.Exited() {
			c.Warn("the pager " + argv[0] + " ended with " + ended.String() + "; --no-pager prints without a pager")
		}
		return true
	}
	if c.env.Getenv("MCPC_PAGER") != "" || c.env.Getenv("PAGER") != "" {
		c.Warn("the pager " + argv[0] + " cannot be started: " + usage.Bare(err).Error())
	}
	return false
}
