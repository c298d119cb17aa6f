package console

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"

	"mcpc/internal/usage"
)

// Pager returns the command that shows a text longer than the screen: MCPC_PAGER, then PAGER, then
// less. It is run without a shell. Returns nil without a terminal, or if the command is cat.
func (c *Console) Pager() []string {
	hasScreen := c.OutStyle.Terminal && c.OutStyle.Height > 0 && c.env.Getenv("TERM") != "dumb"
	if c.NoPager || !hasScreen || c.env.Getenv("CI") != "" {
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

// ShowPaged shows a text in a pager if it is longer than the screen. It returns false if the text is
// short, or there is no pager, or it cannot be started: the caller must then write the text.
func (c *Console) ShowPaged(text []byte) bool {
	argv := c.Pager()
	if argv == nil || c.OutStyle.Rows(text) < c.OutStyle.Height {
		return false
	}
	c.env.Record.WriteWaiting() // the result is recorded even if mcpc is killed while the pager runs
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = bytes.NewReader(text)
	cmd.Stdout = c.Out
	cmd.Stderr = c.Err
	cmd.Env = c.env.Environ()
	// less needs these options to show colours, to keep the screen, and to exit if the text fits one
	// screen. The user's own LESS takes precedence.
	if c.env.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	if c.env.Getenv("LV") == "" {
		cmd.Env = append(cmd.Env, "LV=-c")
	}
	// While the pager runs, Ctrl-C is for the pager, and the server's messages wait.
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
		if ended.Exited() { // not if a signal ended it, such as the user's Ctrl-C
			c.Warn("the pager " + argv[0] + " ended with " + ended.String() + "; --no-pager prints without a pager")
		}
		return true
	}
	// It was not started. That less is missing is no problem of the user.
	if c.env.Getenv("MCPC_PAGER") != "" || c.env.Getenv("PAGER") != "" {
		c.Warn("the pager " + argv[0] + " cannot be started: " + usage.Bare(err).Error())
	}
	return false
}
