package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mcpc/scripts/bench/plan"
)

// enterVersion returns the contenders for the time of starting and exiting.
func enterVersion(_ context.Context, b *bench, _ *row) ([]*entry, error) {
	entries := []*entry{{name: "raw -h", run: b.plain(b.tool("raw"), "-h")}}
	entries = append(entries, b.clients(func(bin string) runner { return b.plain(bin, "version") })...)
	entries = append(
		entries,
		&entry{name: "empty Go", run: b.plain(b.tool("empty"))},
		&entry{name: startsValidator, run: b.plain(b.tool("schemas"))},
		&entry{name: "curl", run: b.plain("curl", "--version")},
	)
	return append(entries, b.peers("version")...), nil
}

// enterBatch returns a function for the contenders of many calls in one process. The other program
// sends the same request equally often and with the same concurrency. It does not check or order
// the responses.
func enterBatch(parallel int) func(context.Context, *bench, *row) ([]*entry, error) {
	return func(ctx context.Context, b *bench, r *row) ([]*entry, error) {
		sent, err := b.callPlan(ctx, r)
		if err != nil {
			return nil, err
		}
		calls := b.path("calls")
		if err := writeCalls(calls, batchCalls); err != nil {
			return nil, err
		}
		times, users := strconv.Itoa(batchCalls), strconv.Itoa(parallel)
		raw := func(flags ...string) runner {
			return b.plain(
				slices.Concat([]string{b.tool("raw")}, flags, []string{"-times", times, "-parallel", users, "{URL}", sent})...)
		}
		entries := append(
			[]*entry{{name: "raw", run: raw()}},
			b.clients(func(bin string) runner { return b.client(bin, nothing, "batch", calls, "--parallel", users) })...)
		return append(entries, &entry{name: readsAll, run: raw("-read")}), nil
	}
}

// callPlan starts the server of a row and returns the name of a file with the requests of one call.
func (b *bench) callPlan(ctx context.Context, r *row) (string, error) {
	address, err := b.serve(ctx, r.server...)
	if err != nil {
		return "", err
	}
	r.url = "http://" + address + "/mcp"
	one := b.path("calls")
	if err := writeCalls(one, 1); err != nil {
		return "", err
	}
	requests, err := b.record(ctx, r, &entry{run: b.client(b.mcpc, nothing, "batch", one)})
	if err != nil {
		return "", err
	}
	file := b.path("plan")
	return file, plan.Save(file, printed(requests))
}

func writeCalls(name string, n int) error {
	return os.WriteFile(name, []byte(strings.Repeat(`{"tool":"get-sum","arguments":`+sumArguments+"}\n", n)), 0o600)
}

// enterCapture returns the contenders for reading a capture of 1 GB: mcpc and grep. It writes the
// capture once.
func enterCapture(ctx context.Context, b *bench, r *row) ([]*entry, error) {
	file := filepath.Join(b.dir, "capture.jsonl")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		if _, err := b.launch(ctx, b.tool("capture"), "-bin", b.bin, "-mcpc", b.mcpc, "-bytes", strconv.Itoa(gigabyte), "-o", file); err != nil {
			return nil, fmt.Errorf("writing the capture: %w", err)
		}
	}
	args := strings.Split(strings.ReplaceAll(strings.Join(r.args, "\t"), "{FILE}", file), "\t")
	entries := []*entry{{name: "grep -c", run: b.plain("grep", "-c", "needle", file), quiet: true}}
	if r.floor == listsCapture {
		entries = append(entries, &entry{name: listsCapture, run: b.plain(b.tool("raw"), "-capture", file), quiet: true})
	}
	return append(entries, b.clients(func(bin string) runner { return b.client(bin, r.remembers, args...) })...), nil
}

// enterProxy returns the contenders for 64 connections through a proxy: mcpc, net/http/httputil,
// and no proxy. It measures the rate, the peak memory of the proxy and the latencies.
func enterProxy(ctx context.Context, b *bench, r *row) ([]*entry, error) {
	sent, err := b.callPlan(ctx, r)
	if err != nil {
		return nil, err
	}
	entries := []*entry{
		{name: "ReverseProxy", run: b.through(sent, b.tool("reverseproxy"), "-port", "{PORT}", "-to", "{URL}")},
	}
	entries = append(entries, b.clients(func(bin string) runner {
		return b.through(sent, bin, "--state", "{STATE}", "proxy", "--to", "{URL}", "--listen", "127.0.0.1:{PORT}")
	})...)
	entries = append(
		entries,
		&entry{name: "direct", run: func(ctx context.Context, url string) (sample, error) { return b.load(ctx, sent, url) }},
	)
	for _, e := range entries {
		e.quiet = true
	}
	return entries, nil
}

// load runs the program load and returns the cost that it prints.
func (b *bench) load(ctx context.Context, sent, url string) (sample, error) {
	r, err := b.start(ctx, b.tool("load"), "-times", strconv.Itoa(proxyCalls), "-parallel", "64", url, sent)
	if err != nil {
		return sample{}, err
	}
	s, err := r.wait()
	if err != nil {
		return sample{}, err
	}
	var said struct{ Rate, P99 float64 }
	err = json.Unmarshal(r.out.start.Bytes(), &said)
	s.took = time.Duration(proxyCalls / said.Rate * float64(time.Second))
	s.p99 = time.Duration(said.P99 * float64(time.Millisecond))
	return s, err
}

// through returns a runner that starts a proxy and runs the load through it. The sample has the
// time of the load, and the processor time and memory of the proxy.
func (b *bench) through(sent string, argv ...string) runner {
	return func(ctx context.Context, url string) (sample, error) {
		port, err := freePort()
		if err != nil {
			return sample{}, err
		}
		address, state := "127.0.0.1:"+port, b.path("state")
		defer os.RemoveAll(state)
		own := make([]string, len(argv))
		for i, arg := range argv {
			own[i] = strings.NewReplacer("{URL}", url, "{PORT}", port, "{STATE}", state).Replace(arg)
		}
		proxy, err := b.start(ctx, own...)
		if err != nil {
			return sample{}, err
		}
		err = awaitListener(address, nil)
		s := sample{}
		if err == nil {
			s, err = b.load(ctx, sent, "http://"+address+"/mcp")
		}
		_ = proxy.signal(syscall.SIGTERM)
		cost, ended := proxy.wait()
		var code exitError
		if err == nil && ended != nil && !errors.As(ended, &code) {
			err = ended
		}
		s.cpu, s.peak = cost.cpu, cost.peak
		return s, err
	}
}
