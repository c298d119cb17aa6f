package main

import (
	"bytes"
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

// A sample is the cost of one run of a contender.
type sample struct {
	took, cpu time.Duration
	// peak is in bytes, p99 the 99th percentile of the latencies of many requests.
	peak int64
	p99  time.Duration
	// out is the number of printed bytes.
	out int64
}

// add returns the cost of two processes.
func (s sample) add(other sample) sample {
	return sample{took: s.took + other.took, cpu: s.cpu + other.cpu, peak: max(s.peak, other.peak), out: s.out + other.out}
}

// An exitError is an exit code other than 0.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// A running is a program that was started with the program launch.
type running struct {
	cmd  *exec.Cmd
	cost *os.File
	out  output
}

// launch runs a program to its end. It reads standard output and discards standard error.
func (b *bench) launch(ctx context.Context, argv ...string) (sample, error) {
	r, err := b.start(ctx, argv...)
	if err != nil {
		return sample{}, err
	}
	return r.wait()
}

// start starts a program through launch, which measures its cost.
func (b *bench) start(ctx context.Context, argv ...string) (*running, error) {
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, err
	}
	cost, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	r := &running{cmd: exec.CommandContext(ctx, b.toolPath("launch"), append([]string{program}, argv[1:]...)...), cost: cost}
	r.cmd.Env, r.cmd.Dir, r.cmd.Stdout, r.cmd.ExtraFiles = b.env, b.dir, &r.out, []*os.File{w}
	// Cancelling ctx kills the process group: launch and the measured program.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.Cancel = func() error { return r.signal(syscall.SIGKILL) }
	r.cmd.WaitDelay = time.Second
	if err := r.cmd.Start(); err != nil {
		cost.Close()
		return nil, err
	}
	return r, nil
}

func (r *running) signal(s syscall.Signal) error { return syscall.Kill(-r.cmd.Process.Pid, s) }

// wait waits for the end of the program and returns its cost. A failure of the program is an
// exitError.
func (r *running) wait() (sample, error) {
	defer r.cost.Close()
	if err := r.cmd.Wait(); err != nil {
		return sample{}, err
	}
	said, err := io.ReadAll(r.cost)
	if err != nil {
		return sample{}, err
	}
	s := sample{out: r.out.n}
	var code int
	if _, err := fmt.Sscan(string(said), &s.took, &s.cpu, &s.peak, &code); err != nil {
		return sample{}, fmt.Errorf("launch said %q: %w", said, err)
	}
	if code != 0 {
		return s, exitError(code)
	}
	return s, nil
}

// An output counts the bytes that are written to it and keeps the first ones.
type output struct {
	n     int64
	start bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.n += int64(len(p))
	o.start.Write(p[:min(len(p), 1024-min(1024, o.start.Len()))])
	return len(p), nil
}

// A process is a server that the benchmark started.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

func (b *bench) stopServers() {
	for _, p := range b.servers {
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	b.servers, b.urls = nil, map[string]string{}
}

// serve starts the server with the flags, unless it already runs. It waits until the server
// listens, and returns its address.
func (b *bench) serve(ctx context.Context, flags ...string) (address string, err error) {
	key := strings.Join(flags, "\t")
	if b.urls[key] != "" {
		return b.urls[key], nil
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, b.toolPath("server"), append([]string{"-port", port}, flags...)...)
	cmd.Env = b.env
	if err := cmd.Start(); err != nil {
		return "", err
	}
	p := &process{cmd, make(chan struct{})}
	b.servers = append(b.servers, p)
	go func() { _ = cmd.Wait(); close(p.ended) }()
	address = net.JoinHostPort("127.0.0.1", port)
	b.urls[key] = address
	return address, awaitListener(address, p.ended)
}

// awaitListener waits until something listens at address, or ended is closed.
func awaitListener(address string, ended <-chan struct{}) error {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			return conn.Close()
		}
		select {
		case <-ended:
			return errors.New("the server at " + address + " ended at once")
		default:
		}
	}
	return errors.New("nothing listens at " + address)
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
