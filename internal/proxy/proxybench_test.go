package proxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/capture"
)

// The cost of a proxy: requests are sent directly and through it in turn, so that both have the
// same conditions. Reported are the added latency of one client, at the median and at p99, and the
// share of the direct throughput that 64 clients get if the server costs almost nothing: a real
// server is itself the bottleneck. A proxy that only forwards shows what is possible: it shares the
// cores with the clients and the server.
//
//	go test ./internal/proxy -run '^$' -bench Proxy -benchtime 3000x
func BenchmarkProxy(b *testing.B) {
	answer := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 200) + `"}]}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	recorder := capture.NewRecorder(capture.Recording{Open: capture.File(filepath.Join(b.TempDir(), "capture"))})
	defer recorder.Close()
	watcher := NewWatcher(WatcherOptions{Tap: recorder.Tap, Now: time.Now})
	defer watcher.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	p := &Proxy{Routes: []Route{{"", must(http.NewRequest("GET", server.URL, nil)).URL}}, Address: l.Addr().String(), Watcher: watcher, Desk: &Desk{Now: time.Now}}
	proxy := &http.Server{Handler: p.Handler(patience)}
	go func() { _ = proxy.Serve(l) }()
	defer proxy.Close()
	bare := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(must(http.NewRequest("GET", server.URL, nil)).URL) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
	})
	defer bare.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}
	post := func(url string) time.Duration {
		began := time.Now()
		resp, err := client.Post(url+"/mcp", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return time.Since(began)
	}
	through := "http://" + l.Addr().String()
	b.Run("latency", func(b *testing.B) {
		var direct, proxied []time.Duration
		for b.Loop() {
			direct, proxied = append(direct, post(server.URL)), append(proxied, post(through))
		}
		slices.Sort(direct)
		slices.Sort(proxied)
		for _, q := range []int{50, 99} {
			at := len(direct) * q / 100
			b.ReportMetric(float64((proxied[at] - direct[at]).Microseconds()), fmt.Sprintf("µs-added-p%d", q))
		}
	})
	b.Run("throughput", func(b *testing.B) {
		var took [3]time.Duration
		for b.Loop() {
			for i, url := range []string{server.URL, through, bare.URL} {
				began := time.Now()
				var all sync.WaitGroup
				for range 64 {
					all.Go(func() {
						for range 10 {
							post(url)
						}
					})
				}
				all.Wait()
				took[i] += time.Since(began)
			}
		}
		b.ReportMetric(100*float64(took[0])/float64(took[1]), "%-of-direct")
		b.ReportMetric(100*float64(took[0])/float64(took[2]), "%-of-direct-when-only-forwarding")
	})
}
