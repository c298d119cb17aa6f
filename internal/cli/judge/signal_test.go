package judge_test

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"

	"mcpc/internal/tests/clitest"
)

// An interrupter sends two signals at once when text is written to it, as timeout(1) does.
type interrupter struct {
	text    string
	signals chan os.Signal
}

func (i *interrupter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), i.text) {
		i.signals <- syscall.SIGTERM
		i.signals <- syscall.SIGTERM
	}
	return len(p), nil
}

// The report is written although the second signal comes before it.
func TestTwoSignalsAtOnceAreOne(t *testing.T) {
	var stdout bytes.Buffer
	i := &interrupter{text: "Ctrl-C ends", signals: make(chan os.Signal, 2)}
	code := clitest.Run{
		Args: []string{"judge", "--json"}, Env: []string{"HOME=" + t.TempDir()},
		Stdout: &stdout, Stderr: i, Signals: i.signals,
	}.Do()
	if code != 0 || !strings.Contains(stdout.String(), `"runs":[`) {
		t.Errorf("exit code %d, output %s", code, &stdout)
	}
}
