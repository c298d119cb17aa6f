// Command capture writes a large capture: `mcpc batch` records calls to the bench server in
// both eras, and these runs are repeated, each with a different id and different times, until
// the file has the requested size. The last result of a run has the text "needle" and the
// number of the run.
//
//	capture -bin DIR -mcpc FILE -bytes 1000000000 -o FILE
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	bin := flag.String("bin", "", "directory of the bench programs")
	mcpc := flag.String("mcpc", "", "the mcpc that records")
	size := flag.Int64("bytes", 1_000_000_000, "least bytes of the capture")
	calls := flag.Int("calls", 5000, "calls in a run")
	out := flag.String("o", "", "file to write")
	flag.Parse()
	log.SetFlags(0)
	if err := generate(*bin, *mcpc, *out, *size, *calls); err != nil {
		log.Fatal("capture: ", err)
	}
}

// generate records one run per era, and writes shifted copies until the file has size bytes.
func generate(bin, mcpc, out string, size int64, calls int) error {
	dir, err := os.MkdirTemp("", "capture-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var runs [2][]byte
	for i, flags := range [][]string{nil, {"-legacy"}} {
		if runs[i], err = record(filepath.Join(bin, "server"), flags, mcpc, dir, calls); err != nil {
			return err
		}
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	written := int64(0)
	for n := 0; written < size; n++ {
		run, err := shiftRun(runs[n%2], n)
		if err != nil {
			return err
		}
		m, err := w.Write(run)
		if err != nil {
			return err
		}
		written += int64(m)
	}
	return errors.Join(w.Flush(), file.Close())
}

// record runs `mcpc batch` and returns the capture of the run.
func record(server string, flags []string, mcpc, dir string, calls int) ([]byte, error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, server, append(flags, "-port", port)...)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() { stop(); _ = cmd.Wait() }()
	if err := awaitServer(net.JoinHostPort("127.0.0.1", port)); err != nil {
		return nil, err
	}
	var input bytes.Buffer
	for i := range calls {
		fmt.Fprintf(&input, `{"tool":"get-sum","arguments":{"a":%d,"b":%d}}`+"\n", i, i%97)
	}
	capture := filepath.Join(dir, "run-"+port+".jsonl")
	batch := exec.CommandContext(ctx, mcpc, "-s", "http://127.0.0.1:"+port+"/mcp", "--record", capture, "batch")
	batch.Stdin, batch.Env = &input, append(
		os.Environ(),
		"XDG_STATE_HOME="+dir,
		"XDG_CONFIG_HOME="+dir,
		"XDG_CACHE_HOME="+dir,
	)
	if output, err := batch.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, output)
	}
	return os.ReadFile(capture)
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// awaitServer waits until the server listens. It returns an error if the server does not listen in
// time.
func awaitServer(address string) (err error) {
	for range 500 {
		var conn net.Conn
		if conn, err = net.DialTimeout("tcp", address, time.Second); err == nil {
			return conn.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

var (
	timeBegins = []byte(`"time":"`)
	text       = []byte(`\"type\":\"text\",\"text\":\"`)
)

// shiftRun returns run n of a file: a copy of run with a different id and later times.
func shiftRun(run []byte, n int) ([]byte, error) {
	_, rest, ok := bytes.Cut(run, []byte(`"in":"`))
	oldID, _, ended := bytes.Cut(rest, []byte(`"`))
	if !ok || !ended {
		return nil, errors.New("the recording has no id")
	}
	id := fmt.Appendf(nil, "%0*d", len(oldID), n)
	out := bytes.ReplaceAll(run, fmt.Appendf(nil, `"in":%q`, oldID), fmt.Appendf(nil, `"in":%q`, id))
	shift := time.Duration(n) * 10 * time.Second
	var moved bytes.Buffer
	moved.Grow(len(out) + len(out)/16)
	for {
		before, after, hasTime := bytes.Cut(out, timeBegins)
		moved.Write(before)
		if !hasTime {
			break
		}
		stamp, tail, _ := bytes.Cut(after, []byte(`"`))
		at, err := time.Parse(time.RFC3339Nano, string(stamp))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&moved, `%s%s"`, timeBegins, at.Add(shift).Format(time.RFC3339Nano))
		out = tail
	}
	out = moved.Bytes()
	last := bytes.LastIndex(out, text)
	if last < 0 {
		return nil, errors.New("the recording has no result with a text")
	}
	last += len(text)
	return append(append(out[:last:last], fmt.Sprintf("needle %d: ", n)...), out[last:]...), nil
}
