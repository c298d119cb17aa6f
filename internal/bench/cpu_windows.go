package bench

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time that this process has used, or 0 if it is unknown.
func cpuTime() time.Duration {
	process, err := syscall.GetCurrentProcess()
	var created, exited, kernel, user syscall.Filetime
	if err != nil || syscall.GetProcessTimes(process, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	units := func(t syscall.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return time.Duration(100 * (units(kernel) + units(user))) // of 100 ns each
}
