package sse

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"mcpc/internal/spool"
)

// A line that is kept in a file is read like a line in memory, with any surrounding text and any
// line end.
func TestSpooledLinesAreReadLikeOthers(t *testing.T) {
	cut := errors.New("cut")
	long := strings.Repeat("0123456789", spool.Memory/5)
	read := func(stream string, failure error, limit int64, dir spool.Dir) (all []string, inFile bool) {
		r := NewReader(io.MultiReader(iotest.HalfReader(strings.NewReader(stream)), iotest.ErrReader(failure)), limit)
		r.Spool = dir
		for {
			ev, err := r.Next()
			spool.Annotate(ev.Data, "there")
			inFile = inFile || spool.Annotation(ev.Data) != nil
			sum := fnv.New64()
			sum.Write(ev.Data)
			ev.Data = nil
			if len(ev.Dropped) > 100 {
				sum.Write(ev.Dropped)
				ev.Dropped = nil
			}
			if all = append(all, fmt.Sprintf("%s %x %v", ev.shown(), sum.Sum64(), err)); err != nil {
				return all, inFile
			}
		}
	}
	files := false
	for name, stream := range map[string]string{
		"events around":  "id: 1\ndata: a\n\ndata: " + long + "\n\ndata: b\n\n: c\n\n",
		"two":            "data: " + long + "\n\ndata: " + long + "1\n\n",
		"CRLF":           "data: " + long + "\r\n\r\ndata: b\r\n\r\n",
		"CR":             "data: " + long + "\r\rdata: b\r\r",
		"two data lines": "data: a\ndata: " + long + "\ndata: b\n\n",
		"no end":         "data: a\n\ndata: " + long,
		"no blank line":  "data: a\n\ndata: " + long + "\n",
		"in no event":    "data: a\n" + long + "\n\ndata: b\n\n",
	} {
		for _, failure := range []error{io.EOF, cut} {
			for _, limit := range []int64{int64(len(long)) - 1, int64(len(long)) + 100} {
				want, _ := read(stream, failure, limit, "")
				got, inFile := read(stream, failure, limit, spool.Dir(t.TempDir()))
				if strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("%s, limit %d, %v: got\n%s\nwant\n%s", name, limit, failure, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				files = files || inFile
			}
		}
	}
	if !files {
		t.Error("no line was in a file")
	}
}
