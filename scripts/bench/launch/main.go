// Command launch runs a program and writes its cost to file descriptor 3:
// nanoseconds from start to end, nanoseconds of processor time, peak resident
// memory in bytes, and the exit code.
//
// It is a separate program because Linux counts the memory of a parent process
// towards the peak of its child. This program uses two megabytes; a runner with
// an HTTP server would hide the memory of small programs.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func main() {
	argv := os.Args[1:]
	// A signal to the process group ends the measured program, not this program.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM)
	began := time.Now()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "launch:", err)
		os.Exit(1)
	}
	state, err := p.Wait()
	took := time.Since(began)
	if err != nil {
		fmt.Fprintln(os.Stderr, "launch:", err)
		os.Exit(1)
	}
	peak := int64(state.SysUsage().(*syscall.Rusage).Maxrss)
	if runtime.GOOS == "linux" {
		peak *= 1024 // there it is in KB
	}
	fmt.Fprintln(os.NewFile(3, "result"), took.Nanoseconds(), (state.UserTime() + state.SystemTime()).Nanoseconds(),
		peak, state.ExitCode())
}
