package program

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Run runs mcpc with an empty state and the variables of env besides those that every test has.
func Run(t testing.TB, env []string, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(Built(t), append([]string{"--state", t.TempDir()}, args...)...)
	cmd.Env = slices.Concat(CleanEnv(), []string{"LC_ALL=C.UTF-8"}, env)
	var out, errs strings.Builder
	cmd.Stdout = &out
	cmd.Stderr = &errs
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// Shell returns a command that runs a line of a shell in a directory.
func Shell(dir string, env []string, line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = env
	return cmd
}

// Around returns the part of a text around the place where it has another text, or "" if it does not
// have it.
func Around(text, part string) string {
	i := strings.Index(text, part)
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%q", text[max(0, i-80):min(len(text), i+80)])
}
