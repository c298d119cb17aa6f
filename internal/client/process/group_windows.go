package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

// A Group is a child process with the processes that it starts.
type Group = Job

// startGroup starts a server in its own job.
func startGroup(cmd *exec.Cmd) (*Group, error) { return StartJob(cmd) }

// signal ends the job: Windows has no signals.
func (j *Job) signal(syscall.Signal) { j.Terminate() }

// A Job is a process with the processes that it and its descendants start, except processes that
// are started to break away. Windows ends them all when the last handle of the job is closed, which
// includes the end of mcpc for any reason.
type Job struct {
	Handle  windows.Handle
	process *os.Process
}

// throughShell changes the command for a batch file to cmd.exe with a safe command line: Windows
// would run cmd.exe in any case. It leaves other commands unchanged, and one that os/exec did not
// find: Start returns cmd.Err. cmd.SysProcAttr must not be nil.
func throughShell(cmd *exec.Cmd) error {
	file := cmd.Path
	if found, err := exec.LookPath(file); err == nil {
		file = found // the name with its extension
	}
	if cmd.Err != nil || !isBatch(file) {
		return nil
	}
	line, err := batchCommandLine(file, cmd.Args[1:])
	if err != nil {
		return err
	}
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return err
	}
	cmd.Path = filepath.Join(system, "cmd.exe")
	cmd.SysProcAttr.CmdLine = line
	return nil
}

// StartJob starts the command in a job. It creates the process suspended, so that the process
// starts no other one before it belongs to the job. A Ctrl-C at the console reaches only mcpc.
func StartJob(cmd *exec.Cmd) (*Job, error) {
	j := &Job{}
	if err := j.create(); err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP}
	if err := throughShell(cmd); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	j.process = cmd.Process
	// A job that mcpc runs in may forbid nested jobs. The server runs nevertheless; Terminate
	// then ends only the server itself.
	_ = j.process.WithHandle(func(process uintptr) {
		_ = windows.AssignProcessToJobObject(j.Handle, windows.Handle(process))
	})
	if err := resume(uint32(j.process.Pid)); err != nil {
		j.Terminate()
		_ = cmd.Wait()
		return nil, err
	}
	return j, nil
}

// create creates the job, whose processes end with its last handle.
func (j *Job) create() error {
	var err error
	j.Handle, err = windows.CreateJobObject(nil, nil)
	if err != nil {
		return os.NewSyscallError("CreateJobObject", err)
	}
	runtime.AddCleanup(j, func(h windows.Handle) { _ = windows.CloseHandle(h) }, j.Handle)
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE |
		windows.JOB_OBJECT_LIMIT_BREAKAWAY_OK
	_, err = windows.SetInformationJobObject(j.Handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	return os.NewSyscallError("SetInformationJobObject", err)
}

// Terminate ends all processes of the job.
func (j *Job) Terminate() {
	_ = windows.TerminateJobObject(j.Handle, 1)
	_ = j.process.Kill()
	runtime.KeepAlive(j)
}

// resume resumes a suspended process. It looks up the thread, since os/exec does not provide its
// handle.
func resume(process uint32) error {
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return os.NewSyscallError("CreateToolhelp32Snapshot", err)
	}
	defer windows.CloseHandle(all)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(all, &entry); err == nil; err = windows.Thread32Next(all, &entry) {
		if entry.OwnerProcessID != process {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return os.NewSyscallError("OpenThread", err)
		}
		_, err = windows.ResumeThread(thread)
		_ = windows.CloseHandle(thread)
		if err != nil {
			return os.NewSyscallError("ResumeThread", err)
		}
	}
	if err != windows.ERROR_NO_MORE_FILES {
		return os.NewSyscallError("Thread32Next", err)
	}
	return nil
}

// afterServerEnd does nothing: the job has ended all processes of the server.
func afterServerEnd() {}
