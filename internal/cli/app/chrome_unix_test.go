//go:build unix

package app

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The processes that a browser has started end with it, also if the browser is a script that does not
// pass on signals.
func TestScreenshotLeavesNoProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	const script = `sleep 1000 & echo $! >"$0"; wait`
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error)
	go func() {
		_, err := screenshot(ctx, []string{"/bin/sh", "-c", script, file}, "http://127.0.0.1/", 800, time.Minute)
		ended <- err
	}()
	var pid int
	for pid == 0 && ctx.Err() == nil {
		text, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-ended; err == nil || pid == 0 {
		t.Fatalf("error %v, process %d", err, pid)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("the process of the browser runs: %v", err)
	}
}
