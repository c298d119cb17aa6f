package live

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"mcpc/internal/capture"
)

func BenchmarkFind(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.jsonl")
	write(b, path, calls(capture.Head{Started: noon, Target: "t", By: capture.ByProxy}, 0, 100_000))
	begin := time.Now()
	s := open(b, Options{Path: path})
	b.Logf("first screen after %v: %d rows", time.Since(begin), s.Status().Rows)
	loaded(b, s)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.Logf("all after %v, %d MB", time.Since(begin), m.HeapAlloc>>20)
	for _, q := range []Query{{}, {Filter: "is:error"}, {Filter: "method:tools/* dur:>50ms -name:tool-3"}, {Filter: "name~/tool-[3-5]/"}, {Sort: "-took"}, {Sort: "name"}, {Sort: "server"}, {Filter: "client:x or target:t"}, {Filter: `"answer 77"`}, {Filter: "body:nothing"}} {
		b.Run(q.Filter+q.Sort, func(b *testing.B) {
			for b.Loop() {
				s.queries.recent = nil
				f, err := s.Find(context.Background(), q)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(f.Pending), "pending")
				at := time.Now()
				found(b, s, q)
				b.ReportMetric(float64(time.Since(at).Milliseconds()), "ms-all")
			}
		})
		b.Run(q.Filter+q.Sort+"/again", func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Find(context.Background(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
