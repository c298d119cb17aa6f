// Command launch runs a program and writes to file descriptor 3 what it cost:
// nanoseconds from start to end, nanoseconds of processor time, peak resident
// memory in bytes, and the exit code.
//
// It is a program of its own because Linux counts the memory of the process
// that starts another one towards the peak of the one that is started. This one
// has two megabytes; a runner with an HTTP server in it would hide what small
// programs need.
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
	// A signal to the process group ends the program that is measured, and not this one.
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
