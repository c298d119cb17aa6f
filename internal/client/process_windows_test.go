package client

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"mcpc/internal/client/process"
)

// How a process ends that was ended, and the text about a file that is not a program.
const (
	terminated    = "exit status 1"
	killed        = "exit status 1"
	brokenPipe    = "exit status 0"
	notExecutable = "no such command: "
)

// living counts the processes of the job.
func living(t *testing.T, j *process.Job) (left []string) {
	t.Helper()
	var about struct {
		times  [4]int64
		faults uint32
		total  uint32
		active uint32
		ended  uint32
	}
	err := windows.QueryInformationJobObject(j.Handle, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&about)), uint32(unsafe.Sizeof(about)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range about.active {
		left = append(left, fmt.Sprintf("%d of %d", n+1, about.total))
	}
	return left
}

// A server and what it started end with mcpc, also where mcpc was killed.
func TestProcessesEndWithTheClient(t *testing.T) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(os.Args[0], "helper", "opens")
	cmd.Env = append(os.Environ(), "LINGERS_AT="+l.Addr().String())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = l.SetDeadline(time.Now().Add(patience))
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("what the server started lives on")
	}
}
