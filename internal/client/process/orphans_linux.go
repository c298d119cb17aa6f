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

// dieWithParent makes the kernel kill the child when mcpc is killed and cannot end it.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// A server may start a process in a session of its own, which no signal to the server's
// group reaches, and which outlives it. Such an orphan becomes a child of mcpc, because
// mcpc asks for that, and is ended when no server of mcpc's runs any more: that it is a
// server's can be told by its session, which is not mcpc's own, and whose server's it is
// can not be told.

var servers struct {
	mu      sync.Mutex
	running int
	once    sync.Once
	// before are children that this process had before it was mcpc; nil where orphans do
	// not come to it.
	before map[int]bool
	// ended tells of children that have ended, while servers run.
	ended chan os.Signal
}

// serverBegins is called before a server is started.
func serverBegins() {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	servers.running++
	servers.once.Do(func() {
		if os.Getpid() == 1 {
			return // all orphans are its children, and end with it
		}
		before := map[int]bool{}
		for _, o := range orphans() {
			before[o.pid] = true
		}
		if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil {
			servers.before = before
		}
	})
	if servers.before != nil && servers.ended == nil {
		servers.ended = make(chan os.Signal, 1)
		signal.Notify(servers.ended, syscall.SIGCHLD)
		go buryOrphans(servers.ended)
	}
}

// serverEnded kills the orphans when the last server was waited for and nothing of its group is left. It returns
// when all of them are reaped, or after orphanTime.
func serverEnded() {
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
	for ; inTime.Err() == nil; time.Sleep(orphanPause) {
		left := slices.DeleteFunc(orphans(), func(o orphan) bool { return servers.before[o.pid] })
		if len(left) == 0 {
			return
		}
		for _, o := range left { // the children of a reaped one become mcpc's and are seen in the next round
			_ = syscall.Kill(o.pid, syscall.SIGKILL)
			o.bury()
		}
	}
}

const (
	orphanPause = 2 * time.Millisecond
	// orphanTime is long because a killed process ends only when it gets a processor, which takes a busy machine
	// seconds.
	orphanTime = 10 * time.Second
)

// buryOrphans reaps orphans that have ended, as no other code does. One that leads a
// session is left to serverEnded: a server that mcpc started itself does too, and is
// waited for elsewhere.
func buryOrphans(ended <-chan os.Signal) {
	for range ended {
		for _, o := range orphans() {
			if o.dead && o.session != o.pid {
				o.bury()
			}
		}
	}
}

// An orphan is a child of mcpc in another session than mcpc's. While a server runs it
// may be that server.
type orphan struct {
	pid, session int
	dead         bool
}

// bury waits for it where it has ended.
func (o orphan) bury() {
	_, _ = syscall.Wait4(o.pid, nil, syscall.WNOHANG, nil)
}

func orphans() (all []orphan) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	own, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	for _, list := range lists {
		raw, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(raw)) {
			pid, _ := strconv.Atoi(word)
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			// Behind the name in brackets: the state, the parent, the group, the session.
			facts := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
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
