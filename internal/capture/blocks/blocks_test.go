package blocks

import (
	"bytes"
	"io"
	"math/rand"
	"os"
	"testing"
)

func BenchmarkWrite(b *testing.B) {
	data := make([]byte, 8<<20)
	r := rand.New(rand.NewSource(1))
	if f, err := os.Open("/tmp/h/index/big.jsonl"); err == nil {
		io.ReadFull(f, data)
		f.Close()
	} else {
		for i := range data {
			data[i] = byte('a' + r.Intn(26))
		}
	}
	b.SetBytes(int64(len(data)))
	var n countWriter
	for b.Loop() {
		n = 0
		if err := Write(&n, bytes.NewReader(data), int64(len(data))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/float64(len(data)), "share")
}

type countWriter int

func (c *countWriter) Write(b []byte) (int, error) { *c += countWriter(len(b)); return len(b), nil }
