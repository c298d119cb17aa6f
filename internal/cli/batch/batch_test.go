package batch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/jsonraw"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

func TestReadCall(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"tool":"a"}`, `tool a `},
		{`{"tool":"a","arguments":{"n":1.0}}`, `tool a {"n":1.0}`},
		{`{"method":"tools/call","params":{"name":"a","arguments":{"n":1},"_meta":{}}}`, `tool a {"n":1}`},
		{`{"method":"ping"}`, `method ping `},
		{`{"id":1,"jsonrpc":"2.0","method":"resources/read","params":{"uri":"x"}}`, `method resources/read {"uri":"x"}`},
		{`{"tool":"a","method":"b"}`, "a call has either \"tool\" or \"method\""},
		{`{}`, "a call has either \"tool\" or \"method\""},
		{`{"key":1}`, "a call has either \"tool\" or \"method\""},
		{`{"tool":"a","params":{}}`, "\"arguments\" goes with \"tool\", \"params\" with \"method\""},
		{`{"method":"a","arguments":{}}`, "\"arguments\" goes with \"tool\", \"params\" with \"method\""},
		{`{"tool":""}`, `tool is not a name: ""`},
		{`{"tool":7}`, "tool is not a name: 7"},
		{`{"tool":"a","arguments":[1]}`, "arguments is not a JSON object: [1]"},
		{`{"tool":"a","arguments":null}`, "arguments is not a JSON object: null"},
		{`{"tool":"a","tool":"b"}`, `the member "tool" is duplicated`},
		{`{"tool":"a","argumnets":{}}`, `a call has no member "argumnets"`},
		{`{"name":"a"}`, `a call has no member "name"`},
		{`{"method":"notifications/initialized"}`, "a notification has no response"},
		{`[1]`, "not a JSON object: [1]"},
		{`"x"`, `not a JSON object: "x"`},
		{`{"tool":"a"} x`, "more bytes follow the JSON value at byte 13"},
	} {
		call, err := readCall([]byte(c.line))
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case call.parseToolCall():
			got = "tool " + call.tool + " " + string(call.arguments)
		default:
			got = "method " + call.method + " " + string(call.params)
		}
		if !strings.HasPrefix(got, c.want) || err == nil && got != c.want {
			t.Errorf("%s: got %q, want %q", c.line, got, c.want)
		}
	}
	var hinted usage.Error
	if _, err := readCall([]byte(`{"tool":"a","args":{}}`)); !errors.As(err, &hinted) || hinted.Hint != "did you mean \"arguments\"?" {
		t.Errorf("args: %v, hint %q", err, hinted.Hint)
	}
	call, err := readCall([]byte(`{"tol":"x","key":{"a": 1.0}}`))
	if err == nil || len(call.echo) != 1 || string(call.echo[0].Value) != `{"a": 1.0}` {
		t.Errorf("a bad line has its key all the same: %v %v", call.echo, err)
	}
}

func TestLinesOfABatch(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		name, text, want string
	}{
		{"nothing", "", ""},
		{"no line end", "a\nb", "1 a,2 b"},
		{"blank lines count", "\n  \na\r\n\nb\n", "3 a,5 b"},
		{"a byte order mark", "\xEF\xBB\xBFa\n", "1 a"},
		{"longer than a buffer", long + "\nb\n", "1 " + long + ",2 b"},
		{"longer than may be", long + long + "\nb\n", "1 the line is longer than 150000 bytes,2 b"},
		{"the last is longer than may be", "a\n" + long + long, "1 a,2 the line is longer than 150000 bytes"},
	} {
		if got := linesOf(strings.NewReader(c.text), 150_000); got != c.want {
			t.Errorf("%s: got %.200q, want %.200q", c.name, got, c.want)
		}
	}
	broken := io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(errors.New("the disk is gone")))
	if got, want := linesOf(broken, 0), "1 a,2 reading the calls: the disk is gone"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func linesOf(in io.Reader, limit int64) string {
	r := &lineReader{r: bufio.NewReaderSize(in, 4096), limit: limit}
	var all []string
	for {
		l, err := r.next()
		if err != nil {
			return strings.Join(all, ",")
		}
		text := string(l.raw)
		if l.err != nil {
			text = l.err.Error()
		}
		all = append(all, fmt.Sprintf("%d %s", l.number, text))
	}
}

// A long call delays a bounded number of later calls, by their number or by the bytes of their
// results, and the order of the results stays.
func TestABatchHasAWindow(t *testing.T) {
	defer func(bytes int) { maxWindowBytes = bytes }(maxWindowBytes)
	maxWindowBytes = 1 << 20
	for _, c := range []struct {
		name     string
		parallel int
		result   int // bytes
		most     int // calls that may have been made while the first is under way
	}{
		{"by number", 8, 100, maxLines},
		{"by bytes", 8, 32 << 10, maxWindowBytes>>15 + 8},
		{"one at a time", 1, 100, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { windowed(t, c.parallel, c.result, c.most) })
		})
	}
}

func windowed(t *testing.T, parallel, size, most int) {
	lines := 3000
	if size > 1000 {
		lines = 100
	}
	b, out := testBatch(t, batchOptions{parallel: parallel})
	var made atomic.Int64
	release := make(chan struct{})
	filler := json.RawMessage(`"` + strings.Repeat("x", size) + `"`)
	b.makeCall = func(_ context.Context, raw []byte) ([]jsonraw.Member, wire.Outcome) {
		made.Add(1)
		if string(raw) == "1" {
			<-release
		}
		return []jsonraw.Member{{Name: "key", Value: raw}}, wire.Outcome{Result: filler}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.run(t.Context(), func() {}, numbers(lines))
	}()
	synctest.Wait()
	if n := int(made.Load()); n > most || n < min(most, maxWindowBytes/(size+200)) {
		t.Errorf("%d calls were made while the first was under way, want at most %d and about so many", n, most)
	}
	if b.results.tally.lines != 0 {
		t.Errorf("%d results were written before the first", b.results.tally.lines)
	}
	close(release)
	<-ended
	checkOrder(t, out, lines)
}

// numbers returns n lines, each with its own number.
func numbers(n int) io.Reader {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return &b
}

func checkOrder(t *testing.T, name string, lines int) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for d := json.NewDecoder(f); d.More(); n++ {
		var l struct{ Line, Key int }
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		if l.Line != n+1 || l.Key != n+1 {
			t.Fatalf("result %d is that of line %d with key %d", n+1, l.Line, l.Key)
		}
	}
	if n != lines {
		t.Errorf("%d results, want %d", n, lines)
	}
}

// testBatch writes its results into a file.
func testBatch(t *testing.T, o batchOptions) (b *batch, results string) {
	t.Helper()
	results = filepath.Join(t.TempDir(), "results")
	out, err := os.Create(results)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	f := cmdutil.New(os.Stdin, out, os.Stderr)
	f.Now = time.Now
	f.Getenv = func(string) string { return "" }
	f.SettleStyles()
	return newBatch(f, o), results
}

// With --stop-on-error nothing begins after a failure; running calls get their results. The rest of
// the input is not waited for.
func TestABatchStops(t *testing.T) { synctest.Test(t, testBatchStops) }

func testBatchStops(t *testing.T) {
	b, out := testBatch(t, batchOptions{parallel: 5, stop: true})
	in, feed := io.Pipe()
	defer feed.Close()
	go func() {
		_, _ = io.Copy(feed, numbers(4)) // and no end
	}()
	failed := make(chan struct{})
	b.makeCall = func(_ context.Context, raw []byte) ([]jsonraw.Member, wire.Outcome) {
		if string(raw) == "4" {
			defer close(failed)
			synctest.Wait() // until the other calls are under way, and the input is read again
			return nil, wire.Outcome{Kind: wire.RPCFailed}
		}
		<-failed
		return []jsonraw.Member{{Name: "key", Value: raw}}, wire.Outcome{Result: json.RawMessage("{}")}
	}
	b.run(t.Context(), func() {}, in)
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(raw), "\n"); got != 4 || b.results.tally.kinds[wire.RPCFailed] != 1 || b.results.tally.kinds[wire.OK] != 3 {
		t.Errorf("got %d results, %v:\n%s", got, b.results.tally.kinds, raw)
	}
}

// A program that writes a line and waits for its result before the next one gets it.
func TestABatchAnswersAtOnce(t *testing.T) {
	b, out := testBatch(t, batchOptions{parallel: 4})
	in, feed := io.Pipe()
	b.makeCall = func(_ context.Context, raw []byte) ([]jsonraw.Member, wire.Outcome) {
		return []jsonraw.Member{{Name: "key", Value: raw}}, wire.Outcome{Result: json.RawMessage("{}")}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.run(t.Context(), func() {}, in)
	}()
	for i := range 3 {
		fmt.Fprintln(feed, i+1)
		for deadline := time.Now().Add(30 * time.Second); strings.Count(results(t, out), "\n") <= i; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("line %d has no result: %s", i+1, results(t, out))
			}
		}
	}
	feed.Close()
	<-ended
	checkOrder(t, out, 3)
}

// results is what was written so far.
func results(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
