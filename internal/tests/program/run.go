package program

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Run runs mcpc with an empty state and the variables of env in addition to the variables of every
// test.
func Run(t testing.TB, env []string, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(BuiltMCPC(t), append([]string{"--state", t.TempDir()}, args...)...)
	cmd.Env = slices.Concat(CleanEnv(), []string{"LC_ALL=C.UTF-8"}, env)
	var out, errs strings.Builder
	cmd.Stdout = &out
	cmd.Stderr = &errs
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// Shell returns a command that runs a shell command line in a directory.
func Shell(dir string, env []string, line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = env
	return cmd
}

// ExcerptAround returns an excerpt of text around part, or "" if text does not contain part.
func ExcerptAround(text, part string) string {
	i := strings.Index(text, part)
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%q", text[max(0, i-80):min(len(text), i+80)])
}
