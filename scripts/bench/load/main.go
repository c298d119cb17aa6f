// Command load sends the last request of a plan many times over as many connections as there
// are requests at a time, and prints the rate and what the requests took, as JSON. It costs
// little itself: one goroutine for each connection, and bytes that are made once.
//
//	load [-times N] [-parallel N] URL PLAN
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/scripts/bench/plan"
)

// A result is what load prints.
type result struct {
	Requests int `json:"requests"`
	// Rate is in requests per second, P50 and P99 in milliseconds.
	Rate float64 `json:"rate"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
}

func main() {
	times := flag.Int("times", 20_000, "how many requests")
	parallel := flag.Int("parallel", 64, "how many of them at a time")
	flag.Parse()
	r, err := measure(flag.Arg(0), flag.Arg(1), *times, *parallel)
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(r)
}

// measure sends the last request of a plan the given number of times and returns the rate and
// latencies.
func measure(to, name string, times, parallel int) (result, error) {
	u, err := url.Parse(to)
	if err != nil {
		return result{}, err
	}
	raw, err := lastRequest(u, name)
	if err != nil {
		return result{}, err
	}
	var left atomic.Int64
	left.Store(int64(times))
	took, failed := make([][]time.Duration, parallel), make([]error, parallel)
	var senders sync.WaitGroup
	began := time.Now()
	for i := range parallel {
		senders.Go(func() {
			took[i], failed[i] = sendRepeatedly(u.Host, raw, &left)
		})
	}
	senders.Wait()
	whole := time.Since(began)
	for _, err := range failed {
		if err != nil {
			return result{}, err
		}
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	ms := func(percent int) float64 {
		return float64(all[min(len(all)*percent/100, len(all)-1)].Microseconds()) / 1000
	}
	return result{len(all), float64(len(all)) / whole.Seconds(), ms(50), ms(99)}, nil
}

// lastRequest returns the last request of a plan as bytes.
func lastRequest(u *url.URL, name string) ([]byte, error) {
	requests, err := plan.Load(name)
	if err != nil {
		return nil, err
	}
	last := requests[len(requests)-1]
	req, err := http.NewRequest(last.Method, u.String(), strings.NewReader(last.Body))
	if err != nil {
		return nil, err
	}
	req.Header = last.Header
	var raw bytes.Buffer
	err = req.Write(&raw)
	return raw.Bytes(), err
}

// sendRepeatedly sends requests over one connection until left is 0, and returns their durations.
func sendRepeatedly(address string, raw []byte, left *atomic.Int64) (took []time.Duration, err error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for left.Add(-1) >= 0 {
		began := time.Now()
		if _, err := conn.Write(raw); err != nil {
			return nil, err
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return nil, err
		}
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("the server answered %s", resp.Status)
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}
