//go:build torture && linux && amd64

package torture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// The kernel makes the n-th call of a process fail: a seccomp filter holds every fallible system
// call of mcpc until the test lets it through or answers it with an error. So the program under
// test is the program that users get, and whatever it is made of can fail. It needs Linux 5.19.

// fallible are the calls that can fail in the world, and how.
var fallible = map[int]syscall.Errno{
	syscall.SYS_OPENAT:     syscall.EACCES,
	syscall.SYS_READ:       syscall.EIO,
	syscall.SYS_PREAD64:    syscall.EIO,
	syscall.SYS_GETDENTS64: syscall.EIO,
	syscall.SYS_NEWFSTATAT: syscall.EACCES,
	syscall.SYS_FSTAT:      syscall.EIO,
	syscall.SYS_WRITE:      syscall.ENOSPC,
	syscall.SYS_PWRITE64:   syscall.ENOSPC,
	syscall.SYS_FSYNC:      syscall.EIO,
	syscall.SYS_RENAMEAT:   syscall.EIO,
	syscall.SYS_UNLINKAT:   syscall.EIO,
	syscall.SYS_MKDIRAT:    syscall.ENOSPC,
	syscall.SYS_FCHMOD:     syscall.EPERM,
	syscall.SYS_FCHMODAT:   syscall.EPERM,
	syscall.SYS_FLOCK:      syscall.ENOLCK,
	syscall.SYS_CLOSE:      syscall.EIO,
	syscall.SYS_SOCKET:     syscall.EMFILE,
	syscall.SYS_CONNECT:    syscall.ECONNREFUSED,
	syscall.SYS_GETSOCKOPT: syscall.ENOBUFS,
	syscall.SYS_SETSOCKOPT: syscall.ENOBUFS,
	syscall.SYS_EPOLL_CTL:  syscall.ENOSPC,
	syscall.SYS_PIPE2:      syscall.EMFILE,
	syscall.SYS_CLONE:      syscall.EAGAIN,
	syscall.SYS_DUP3:       syscall.EBUSY,
	syscall.SYS_SETSID:     syscall.EPERM,
	syscall.SYS_EXECVE:     syscall.ENOMEM,
	syscall.SYS_KILL:       syscall.EPERM,
	sysPidfdOpen:           syscall.EMFILE,
}

// callNames are for the test's messages.
var callNames = map[int]string{
	syscall.SYS_OPENAT: "openat", syscall.SYS_READ: "read", syscall.SYS_PREAD64: "pread", syscall.SYS_GETDENTS64: "getdents",
	syscall.SYS_NEWFSTATAT: "stat", syscall.SYS_FSTAT: "fstat", syscall.SYS_WRITE: "write", syscall.SYS_PWRITE64: "pwrite",
	syscall.SYS_FSYNC: "fsync", syscall.SYS_RENAMEAT: "rename",
	syscall.SYS_UNLINKAT: "unlink", syscall.SYS_MKDIRAT: "mkdir", syscall.SYS_FCHMOD: "fchmod", syscall.SYS_FCHMODAT: "fchmodat",
	syscall.SYS_FLOCK: "flock", syscall.SYS_CLOSE: "close", syscall.SYS_SOCKET: "socket", syscall.SYS_CONNECT: "connect",
	syscall.SYS_GETSOCKOPT: "getsockopt", syscall.SYS_SETSOCKOPT: "setsockopt", syscall.SYS_EPOLL_CTL: "epoll_ctl",
	syscall.SYS_PIPE2: "pipe", syscall.SYS_CLONE: "clone", syscall.SYS_DUP3: "dup", syscall.SYS_SETSID: "setsid",
	syscall.SYS_EXECVE: "execve", syscall.SYS_KILL: "kill", sysPidfdOpen: "pidfd_open",
}

// pathArgument is the index of the argument with the address of a file's name; other calls have a
// descriptor in the first argument.
var pathArgument = map[int]int{
	syscall.SYS_OPENAT: 1, syscall.SYS_NEWFSTATAT: 1, syscall.SYS_RENAMEAT: 1, syscall.SYS_UNLINKAT: 1,
	syscall.SYS_MKDIRAT: 1, syscall.SYS_FCHMODAT: 1, syscall.SYS_EXECVE: 0,
}

// noDescriptor are the calls that are about neither a name nor a descriptor.
var noDescriptor = []int{syscall.SYS_SOCKET, syscall.SYS_PIPE2, syscall.SYS_CLONE, syscall.SYS_SETSID, syscall.SYS_KILL, sysPidfdOpen}

// Numbers that package syscall does not name.
const (
	sysPidfdOpen = 434

	receiveNotice    = 0xc0502100
	sendVerdict      = 0xc0182101
	letThrough       = 1
	vfork            = 0x4000
	execErrno        = 8 // the length of a child's report about its execve
	pollIn, pollGone = 1, 16
)

// A caught call is struct seccomp_notif: a thread that waits for what its call gives.
type caught struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

// A ruling is struct seccomp_notif_resp.
type ruling struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// An ordeal is one run of a program whose nth fallible call fails: among the calls with the number
// only, or among all calls if only is 0.
type ordeal struct {
	program   string
	nth, only int
	// world is the directory of the run, which is not part of a key.
	world string
	// except are the keys of calls that do not fail.
	except map[string]bool
	// keys are the keys of the calls that could have failed, until a call did.
	keys []string
	// subjects counts the calls by what they are about.
	subjects map[string]int
	// seen counts the calls; failed is the call that was made to fail.
	seen   int
	failed string
}

// run starts the command under the filter, by the program in testdata/confined,
// and waits for its end.
func (o *ordeal) run(t *testing.T, launcher string, cmd *exec.Cmd) error {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "listener")
	defer syscall.Close(pair[0])
	o.program = cmd.Path
	argv := []string{launcher}
	for nr := range fallible {
		argv = append(argv, strconv.Itoa(nr))
	}
	argv = append(append(argv, "--", cmd.Path), cmd.Args[1:]...)
	cmd.Path, cmd.Args, cmd.ExtraFiles = launcher, argv, []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	listener, err := receiveDescriptor(pair[0])
	if err != nil {
		t.Fatalf("%v; seccomp's user notification (Linux 5.19) is needed", err)
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		o.judge(listener, over)
	}()
	err = cmd.Wait()
	close(over)
	<-done
	syscall.Close(listener)
	return err
}

func receiveDescriptor(socket int) (int, error) {
	data, rights := make([]byte, 1), make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := syscall.Recvmsg(socket, data, rights, syscall.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) == 0 {
		return 0, fmt.Errorf("no listener came: %w", err)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// judge answers notices until no process is under the filter any more or the run
// is over.
func (o *ordeal) judge(listener int, over <-chan struct{}) {
	for {
		poll := struct {
			fd           int32
			want, events int16
		}{int32(listener), pollIn, 0}
		n, _, _ := syscall.Syscall(syscall.SYS_POLL, uintptr(unsafe.Pointer(&poll)), 1, 20)
		if poll.events&pollGone != 0 {
			return
		}
		if n != 1 {
			select {
			case <-over:
				return
			default:
				continue
			}
		}
		var asked caught
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(listener), receiveNotice, uintptr(unsafe.Pointer(&asked))); errno != 0 {
			continue // it died in the meantime
		}
		r := ruling{id: asked.id, flags: letThrough}
		if o.failed == "" {
			if what, errno := o.counts(&asked); errno != 0 && o.isCandidate(what, int(asked.nr)) {
				o.seen++
				if o.seen == o.nth {
					o.failed = what
					r = ruling{id: asked.id, errno: -int32(errno)}
				}
			}
		}
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, uintptr(listener), sendVerdict, uintptr(unsafe.Pointer(&r)))
	}
}

// isCandidate reports whether a call may be made to fail, and notes its key: what the call is about
// and its number among the calls about that. Numbers in names, such as those of sockets, are not
// part of the key.
func (o *ordeal) isCandidate(what string, nr int) bool {
	if o.only != 0 && o.only != nr {
		return false
	}
	if o.subjects == nil {
		o.subjects = map[string]int{}
	}
	subject := numbers.ReplaceAllString(strings.ReplaceAll(what, o.world, "WORLD"), "0")
	o.subjects[subject]++
	key := fmt.Sprintf("%s, %d", subject, o.subjects[subject])
	o.keys = append(o.keys, key)
	// mcpc looks for its children in a loop over its threads, again and again: each turn is like the first two.
	isRepeated := strings.Contains(subject, " /proc/") && o.subjects[subject] > 2
	return !isRepeated && !o.except[key]
}

var numbers = regexp.MustCompile(`\d+`)

// counts returns what a call is about and how it can fail, or 0 if it cannot, or is not the
// program's: the launcher and the servers are under the filter too.
func (o *ordeal) counts(n *caught) (what string, errno syscall.Errno) {
	proc := fmt.Sprintf("/proc/%d/", n.pid)
	if exe, err := os.Readlink(proc + "exe"); err != nil || exe != o.program {
		return "", 0
	}
	nr := int(n.nr)
	subject := ""
	if at, ok := pathArgument[nr]; ok {
		subject = stringAt(proc, n.args[at])
		if subject == "" { // a descriptor's own
			subject, _ = os.Readlink(proc + fmt.Sprintf("fd/%d", int32(n.args[0])))
		}
	} else if !slices.Contains(noDescriptor, nr) {
		fd := n.args[0]
		if nr == syscall.SYS_EPOLL_CTL {
			fd = n.args[2]
		}
		subject, _ = os.Readlink(proc + fmt.Sprintf("fd/%d", int32(fd)))
	}
	return callNames[nr] + " " + subject, howItFails(n, subject)
}

// runtimeFile is what Go's runtime reads before the program begins.
var runtimeFile = regexp.MustCompile(`^/sys/|^/proc/(self|\d+)/(cgroup|mountinfo)$`)

// howItFails returns how a call fails in practice. Go's runtime ends the program if its own eventfd
// or a thread fails, and the close of a pipe or of a socket always closes it; files are not polled;
// package syscall waits forever if it cannot read the result of an execve.
func howItFails(n *caught, subject string) syscall.Errno {
	errno := fallible[int(n.nr)]
	socket := strings.HasPrefix(subject, "socket:")
	switch {
	case strings.HasPrefix(subject, "anon_inode:"),
		n.nr == syscall.SYS_CLONE && n.args[0]&vfork == 0,
		n.nr == syscall.SYS_CLOSE && !filepath.IsAbs(subject),
		n.nr == syscall.SYS_EPOLL_CTL && filepath.IsAbs(subject),
		n.nr == syscall.SYS_READ && strings.HasPrefix(subject, "pipe:") && n.args[2] == execErrno,
		runtimeFile.MatchString(subject):
		return 0
	case socket && (n.nr == syscall.SYS_READ || n.nr == syscall.SYS_WRITE):
		return syscall.ECONNRESET
	case strings.HasPrefix(subject, "pipe:") && n.nr == syscall.SYS_WRITE:
		return syscall.EPIPE
	}
	return errno
}

// stringAt reads a string of another process.
func stringAt(proc string, address uint64) string {
	memory, err := os.Open(proc + "mem")
	if err != nil {
		return "?"
	}
	defer memory.Close()
	b := make([]byte, 4096)
	n, _ := memory.ReadAt(b, int64(address)) // up to where nothing is mapped
	text, _, _ := strings.Cut(string(b[:n]), "\x00")
	return text
}
