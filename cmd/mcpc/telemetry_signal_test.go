package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"mcpc/internal/tests/program"
)

// A signal while the command waits for its collector ends the waiting, and nothing else.
func TestInterruptedWhileTelemetryIsSent(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}, 9), make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{}; <-release }))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(release) })
	for want, tool := range map[int]string{0: "get-tiny-image", 5: "fail"} {
		cmd := exec.Command("mcpc", "--state", t.TempDir(), "-s", "demo", "call", tool, "--otlp", hanging.URL)
		cmd.Env = append(program.CleanEnv(), "OTEL_METRICS_EXPORTER=none")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-arrived
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: exit %d, want %d", tool, got, want)
		}
	}
}
