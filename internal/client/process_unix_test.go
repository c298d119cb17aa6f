//go:build unix

package client

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mcpc/internal/client/process"
)

// How a process ends that was ended, and the text about a file that is not a program.
const (
	terminated    = "signal: terminated"
	killed        = "signal: killed"
	brokenPipe    = "signal: broken pipe"
	notExecutable = "the command is not executable: "
)

// living lists the living processes of the group, zombies excluded; on
// other systems than Linux only its id.
func living(_ *testing.T, g *process.Group) (left []string) {
	if runtime.GOOS != "linux" {
		if errors.Is(syscall.Kill(-g.ID, 0), syscall.ESRCH) {
			return nil
		}
		return []string{strconv.Itoa(g.ID)}
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		text := string(raw)
		fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		if len(fields) > 2 && fields[0] != "Z" && fields[2] == strconv.Itoa(g.ID) {
			left = append(left, strings.TrimSpace(text[:strings.LastIndexByte(text, ')')+1]))
		}
	}
	return left
}
