package process

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dieWithParent makes the kernel kill the child if mcpc dies without stopping it.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// servers tracks the running servers, to end their orphans. A server may start a process in another
// session, which signals to the server's group do not reach and which outlives the server. Such an
// orphan becomes a child of mcpc, because mcpc is a subreaper. It is killed when no server of mcpc
// runs any more: its session, which differs from mcpc's, shows that a server started it, but not
// which one.
var servers struct {
	mu      sync.Mutex
	running int
	once    sync.Once
	// before are the children that this process had before it started a server; nil if orphans do
	// not become children of mcpc.
	before map[int]bool
	// ended receives SIGCHLD while servers run.
	ended chan os.Signal
}

// beforeServerStart counts a server that is about to start. The first one makes mcpc a subreaper, for
// good. While servers run, reapOrphans handles the end of orphans.
func beforeServerStart() {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	servers.running++
	servers.once.Do(func() {
		if os.Getpid() == 1 {
			return // all orphans are children of process 1, and end with it
		}
		before := map[int]bool{}
		for _, o := range listOrphans() {
			before[o.pid] = true
		}
		if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil {
			servers.before = before
		}
	})
	if servers.before != nil && servers.ended == nil {
		servers.ended = make(chan os.Signal, 1)
		signal.Notify(servers.ended, syscall.SIGCHLD)
		go reapOrphans(servers.ended)
	}
}

// afterServerEnd counts an ended server. After the last one it kills the orphans and returns when
// all of them are reaped, at the latest after orphanTime.
func afterServerEnd() {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	servers.running--
	if servers.running > 0 || servers.before == nil {
		return
	}
	signal.Stop(servers.ended)
	close(servers.ended)
	servers.ended = nil
	if keepOrphans.Load() {
		return
	}
	inTime, stop := context.WithTimeout(context.Background(), orphanTime)
	defer stop()
	for ; inTime.Err() == nil; time.Sleep(orphanInterval) { // a killed process ends only after a while
		left := slices.DeleteFunc(listOrphans(), func(o orphan) bool { return servers.before[o.pid] })
		if len(left) == 0 {
			return
		}
		for _, o := range left { // children of a reaped orphan appear in the next round
			_ = syscall.Kill(o.pid, syscall.SIGKILL)
			o.reap()
		}
	}
}

const (
	orphanInterval = 2 * time.Millisecond
	// orphanTime is long because a killed process ends only when it gets a processor, which takes
	// seconds on a busy machine.
	orphanTime = 10 * time.Second
)

// reapOrphans reaps orphans that have ended. It leaves session leaders to afterServerEnd, because a
// server that mcpc started is one, too, and is reaped by its own Wait.
func reapOrphans(ended <-chan os.Signal) {
	for range ended {
		for _, o := range listOrphans() {
			if o.isZombie && o.session != o.pid {
				o.reap()
			}
		}
	}
}

// An orphan is a child of mcpc in another session. While a server runs, it may be that server.
type orphan struct {
	pid, session int
	isZombie     bool
}

// reap reaps the process if it has ended.
func (o orphan) reap() {
	_, _ = syscall.Wait4(o.pid, nil, syscall.WNOHANG, nil)
}

// listOrphans returns the children of mcpc that are in other sessions, running servers among them. It
// returns nil if the system does not list them.
func listOrphans() []orphan {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	own, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	var all []orphan
	for _, list := range lists {
		raw, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(raw)) {
			pid, _ := strconv.Atoi(word)
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			// After the name in brackets: the state, the parent, the group, the session.
			facts := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			// The process may have ended, and its id may belong to another one, since the list was read.
			if len(facts) < 4 || facts[1] != strconv.Itoa(os.Getpid()) {
				continue
			}
			if session, err := strconv.Atoi(facts[3]); err == nil && session != own {
				all = append(all, orphan{pid, session, facts[0] == "Z"})
			}
		}
	}
	return all
}
