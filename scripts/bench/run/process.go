package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A sample is what one run of one contender cost.
type sample struct {
	took, cpu time.Duration
	peak      int64 // bytes
	// out is how many bytes were printed.
	out int64
}

// add joins the cost of a second process to that of the first.
func (s sample) add(other sample) sample {
	return sample{s.took + other.took, s.cpu + other.cpu, max(s.peak, other.peak), s.out + other.out}
}

// launch runs a program to its end by way of the program launch. Standard
// output is read to its end, standard error goes to /dev/null.
func (b *bench) launch(ctx context.Context, argv ...string) (sample, error) {
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return sample{}, err
	}
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	defer stop()
	r, w, err := os.Pipe()
	if err != nil {
		return sample{}, err
	}
	defer r.Close()
	var out counter
	cmd := exec.CommandContext(ctx, b.tool("launch"), append([]string{program}, argv[1:]...)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.ExtraFiles = b.env, b.dir, &out, []*os.File{w}
	// Cancelling ctx kills the whole process group: the program too, not launch alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	w.Close()
	if err != nil {
		return sample{}, err
	}
	said, err := io.ReadAll(r)
	if err != nil {
		return sample{}, err
	}
	s := sample{out: int64(out)}
	var code int
	if _, err := fmt.Sscan(string(said), &s.took, &s.cpu, &s.peak, &code); err != nil {
		return sample{}, fmt.Errorf("launch said %q: %w", said, err)
	}
	if code != 0 {
		return sample{}, fmt.Errorf("%s ended with exit code %d", strings.Join(argv, " "), code)
	}
	return s, nil
}

// A counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// A process is a server that was started here.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

func (b *bench) stopServers() {
	for _, p := range b.servers {
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	b.servers = nil
}

// serve starts a server and waits until it listens. {PORT} in its argv stands
// for the port that it is to take.
func (b *bench) serve(ctx context.Context, argv []string, path string) (url string, err error) {
	port, err := freePort()
	if err != nil {
		return "", err
	}
	argv = strings.Split(strings.ReplaceAll(strings.Join(argv, "\t"), "{PORT}", port), "\t")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = b.env
	if err := cmd.Start(); err != nil {
		return "", err
	}
	p := &process{cmd, make(chan struct{})}
	b.servers = append(b.servers, p)
	go func() { _ = cmd.Wait(); close(p.ended) }()
	address := net.JoinHostPort("127.0.0.1", port)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return "http://" + address + path, nil
		}
		select {
		case <-p.ended:
			return "", fmt.Errorf("%s ended at once", argv[0])
		default:
		}
	}
	return "", errors.New(argv[0] + " does not listen")
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
