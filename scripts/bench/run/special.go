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

// prepareVersion returns the contenders for the time of starting and exiting.
func prepareVersion(_ context.Context, b *bench, _ *row) ([]*contender, error) {
	entries := []*contender{{name: "raw -h", run: b.programRunner(b.toolPath("raw"), "-h")}}
	entries = append(entries, b.mcpcContenders(func(bin string) runner { return b.programRunner(bin, "version") })...)
	entries = append(
		entries,
		&contender{name: "empty Go", run: b.programRunner(b.toolPath("empty"))},
		&contender{name: startsValidator, run: b.programRunner(b.toolPath("schemas"))},
		&contender{name: "curl", run: b.programRunner("curl", "--version")},
	)
	return append(entries, b.peerContenders("version")...), nil
}

// prepareBatch returns a function for the contenders of many calls in one process. The other program
// sends the same request equally often and with the same concurrency. It does not check or order
// the responses.
func prepareBatch(parallel int) func(context.Context, *bench, *row) ([]*contender, error) {
	return func(ctx context.Context, b *bench, r *row) ([]*contender, error) {
		sent, err := b.callPlan(ctx, r)
		if err != nil {
			return nil, err
		}
		calls := b.newPath("calls")
		if err := writeCalls(calls, batchCalls); err != nil {
			return nil, err
		}
		times, users := strconv.Itoa(batchCalls), strconv.Itoa(parallel)
		raw := func(flags ...string) runner {
			return b.programRunner(
				slices.Concat([]string{b.toolPath("raw")}, flags, []string{"-times", times, "-parallel", users, "{URL}", sent})...)
		}
		entries := append(
			[]*contender{{name: "raw", run: raw()}},
			b.mcpcContenders(func(bin string) runner { return b.mcpcRunner(bin, nothing, "batch", calls, "--parallel", users) })...)
		return append(entries, &contender{name: readsAll, run: raw("-read")}), nil
	}
}

// callPlan starts the server of a row and returns the name of a file with the requests of one call.
func (b *bench) callPlan(ctx context.Context, r *row) (string, error) {
	address, err := b.serve(ctx, r.server...)
	if err != nil {
		return "", err
	}
	r.url = "http://" + address + "/mcp"
	one := b.newPath("calls")
	if err := writeCalls(one, 1); err != nil {
		return "", err
	}
	requests, err := b.record(ctx, r, &contender{run: b.mcpcRunner(b.mcpc, nothing, "batch", one)})
	if err != nil {
		return "", err
	}
	file := b.newPath("plan")
	return file, plan.Save(file, markPrinted(requests))
}

func writeCalls(name string, n int) error {
	return os.WriteFile(name, []byte(strings.Repeat(`{"tool":"get-sum","arguments":`+sumArguments+"}\n", n)), 0o600)
}

// prepareCapture returns the contenders for reading a capture of 1 GB: mcpc and grep. It writes the
// capture once.
func prepareCapture(ctx context.Context, b *bench, r *row) ([]*contender, error) {
	file := filepath.Join(b.dir, "capture.jsonl")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		if _, err := b.launch(ctx, b.toolPath("capture"), "-bin", b.bin, "-mcpc", b.mcpc, "-bytes", strconv.Itoa(gigabyte), "-o", file); err != nil {
			return nil, fmt.Errorf("writing the capture: %w", err)
		}
	}
	args := strings.Split(strings.ReplaceAll(strings.Join(r.args, "\t"), "{FILE}", file), "\t")
	entries := []*contender{{name: "grep -c", run: b.programRunner("grep", "-c", "needle", file), printsNothing: true}}
	if r.floor == listsCapture {
		entries = append(entries, &contender{name: listsCapture, run: b.programRunner(b.toolPath("raw"), "-capture", file), printsNothing: true})
	}
	return append(entries, b.mcpcContenders(func(bin string) runner { return b.mcpcRunner(bin, r.remembers, args...) })...), nil
}

// prepareProxy returns the contenders for 64 connections through a proxy: mcpc, net/http/httputil,
// and no proxy. It measures the rate, the peak memory of the proxy and the latencies.
func prepareProxy(ctx context.Context, b *bench, r *row) ([]*contender, error) {
	sent, err := b.callPlan(ctx, r)
	if err != nil {
		return nil, err
	}
	entries := []*contender{
		{name: "ReverseProxy", run: b.proxyRunner(sent, b.toolPath("reverseproxy"), "-port", "{PORT}", "-to", "{URL}")},
	}
	entries = append(entries, b.mcpcContenders(func(bin string) runner {
		return b.proxyRunner(sent, bin, "--state", "{STATE}", "proxy", "--to", "{URL}", "--listen", "127.0.0.1:{PORT}")
	})...)
	entries = append(
		entries,
		&contender{name: "direct", run: func(ctx context.Context, url string) (sample, error) { return b.runLoad(ctx, sent, url) }},
	)
	for _, e := range entries {
		e.printsNothing = true
	}
	return entries, nil
}

// runLoad runs the program load and returns the cost that it prints.
func (b *bench) runLoad(ctx context.Context, sent, url string) (sample, error) {
	r, err := b.start(ctx, b.toolPath("load"), "-times", strconv.Itoa(proxyCalls), "-parallel", "64", url, sent)
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

// proxyRunner returns a runner that starts a proxy and runs the load through it. The sample has the
// time of the load, and the processor time and memory of the proxy.
func (b *bench) proxyRunner(sent string, argv ...string) runner {
	return func(ctx context.Context, url string) (sample, error) {
		port, err := freePort()
		if err != nil {
			return sample{}, err
		}
		address, state := "127.0.0.1:"+port, b.newPath("state")
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
			s, err = b.runLoad(ctx, sent, "http://"+address+"/mcp")
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
