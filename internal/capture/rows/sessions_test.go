package rows

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/jsonraw"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

var distil = flag.Bool("distil", false, "write testdata/sessions anew from the recorded sessions")

// sessionsArchive finds the recorded sessions of other clients, which not every machine has: beside
// the repository or above that. It returns "" without such an archive.
func sessionsArchive(t *testing.T) string {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		name := filepath.Join(dir, "shared", "facts", "traffic.tar.gz")
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return ""
}

// A session is the files of one recorded session, by their names.
type session map[string][]byte

func readSessions(t *testing.T, archive string) map[string]session {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]session{}
	for files := tar.NewReader(unpacked); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		dir, file := path.Split(path.Clean(h.Name))
		_, name, ok := strings.Cut(strings.Trim(dir, "/"), "traffic/client-")
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		raw, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		if all[name] == nil {
			all[name] = session{}
		}
		all[name][file] = raw
	}
}

// A burst is what is sent at once on a connection.
type burst struct {
	Milliseconds int `json:"t_ms"`
	Conn         int
	Dir          string
	Bytes        int
}

// bursts returns the bytes of one direction of a connection as they were received, and notes the
// burst of the bytes that were read last.
type bursts struct {
	rest []byte
	next []int // the index of each burst
	all  []burst
	at   int
	left int
}

func (b *bursts) Read(to []byte) (int, error) {
	if b.left == 0 && len(b.next) > 0 {
		b.at, b.next = b.next[0], b.next[1:]
		b.left = b.all[b.at].Bytes
	}
	if len(b.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(to, b.rest)
	if b.left > 0 { // bytes outside of all bursts came with the last
		n = min(n, b.left)
		b.left -= n
	}
	b.rest = b.rest[n:]
	return n, nil
}

// A piece is a frame that is not in its place yet: of the n-th request of a connection,
// in a burst.
type sessionPiece struct {
	frame   wire.Frame
	burst   int
	conn, n int
}

// framesOf returns the frames of a session in the order they were sent in.
func framesOf(t *testing.T, s session) (frames []wire.Frame) {
	t.Helper()
	var all []burst
	for line := range bytes.Lines(s["timeline.jsonl"]) {
		var b burst
		if err := json.Unmarshal(line, &b); err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	var pieces []sessionPiece
	for conn := 1; s[fmt.Sprintf("conn-%02d.requests.http", conn)] != nil; conn++ {
		read := func(dir, file string) *bursts {
			b := &bursts{rest: s[fmt.Sprintf("conn-%02d.%s.http", conn, file)], all: all}
			for i, one := range all {
				if one.Conn == conn && one.Dir == dir {
					b.next = append(b.next, i)
				}
			}
			return b
		}
		requests := requestsOf(t, conn, read("client->server", "requests"), &pieces)
		responsesOf(t, conn, read("server->client", "responses"), requests, &pieces)
	}
	slices.SortStableFunc(pieces, func(a, b sessionPiece) int { return cmp.Compare(a.burst, b.burst) })
	streams := map[[2]int]int{}
	for i, p := range pieces {
		key := [2]int{p.conn, p.n}
		if streams[key] == 0 {
			streams[key] = len(streams) + 1
		}
		p.frame.Seq, p.frame.Stream = uint64(i+1), streams[key]
		p.frame.Time = noon.Add(time.Duration(all[p.burst].Milliseconds) * time.Millisecond)
		frames = append(frames, p.frame)
	}
	return frames
}

func headerFields(h http.Header) (fields []wire.Field) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			fields = append(fields, wire.Field{Name: name, Value: value})
		}
	}
	return fields
}

func requestsOf(t *testing.T, conn int, src *bursts, pieces *[]sessionPiece) (all []*http.Request) {
	t.Helper()
	for in := bufio.NewReader(src); ; {
		r, err := http.ReadRequest(in)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		head := &wire.HTTPHead{Method: r.Method, URL: "http://127.0.0.1" + r.URL.Path, Proto: r.Proto, Fields: headerFields(r.Header)}
		*pieces = append(*pieces, sessionPiece{wire.Frame{Kind: wire.Head, HTTP: head}, src.at, conn, len(all)})
		if len(body) > 0 {
			*pieces = append(*pieces, sessionPiece{wire.Frame{Raw: body}, src.at, conn, len(all)})
		}
		all = append(all, r)
	}
}

func responsesOf(t *testing.T, conn int, src *bursts, requests []*http.Request, pieces *[]sessionPiece) {
	t.Helper()
	in := bufio.NewReader(src)
	for n, request := range requests {
		add := func(f wire.Frame) {
			f.Dir = wire.Received
			*pieces = append(*pieces, sessionPiece{f, src.at, conn, n})
		}
		r, err := http.ReadResponse(in, request)
		if err != nil {
			return // the client had disconnected
		}
		add(wire.Frame{Kind: wire.Head, HTTP: &wire.HTTPHead{Status: r.StatusCode, Proto: r.Proto, Fields: headerFields(r.Header)}})
		if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
			err = eachEventOf(r.Body, add)
		} else {
			var body []byte
			if body, err = io.ReadAll(r.Body); len(body) > 0 {
				add(wire.Frame{Raw: body})
			}
		}
		end := wire.CloseFacts{By: wire.Received, How: "end"}
		if err != nil {
			end = wire.CloseFacts{By: wire.Sent, How: "cancelled"}
		}
		add(wire.Frame{Kind: wire.Closed, Close: &end})
	}
}

func eachEventOf(body io.Reader, add func(wire.Frame)) error {
	for events := sse.NewReader(body, 1<<20); ; {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if ev.IsEvent() {
			add(wire.Frame{Kind: wire.Event, Raw: ev.Data, SSE: &ev.Facts})
		}
	}
}

// distilled is a frame without what no row depends on: header fields, and the most of
// long results.
func distilled(f wire.Frame) wire.Frame {
	if f.HTTP != nil {
		head := *f.HTTP
		head.Fields = nil
		f.HTTP = &head
	}
	if m := wire.ParseMessage(f.Raw); len(f.Raw) > 400 && m.Result != nil {
		f.Raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"long":%d}}`, m.ID, len(f.Raw))
		if state := jsonraw.First(m.Result, "requestState"); state != nil {
			f.Raw = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":%s}}`, m.ID, state)
		}
	}
	return f
}

// The messages of real clients and real servers are in the rows that their ids and streams
// determine: 18 sessions if the archive is there, and shortened copies of a few everywhere.
func TestRecordedSessionsAreOnTheirRows(t *testing.T) {
	samples, err := filepath.Glob(filepath.Join("testdata", "sessions", "*.jsonl"))
	if err != nil || len(samples) < 4 && !*distil {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for _, name := range samples {
		assertSession(t, name, sampleOf(t, name))
	}
	archive := sessionsArchive(t)
	if archive == "" {
		return
	}
	all := readSessions(t, archive)
	if len(all) != 18 {
		t.Errorf("%d sessions", len(all))
	}
	for name, s := range all {
		frames := framesOf(t, s)
		if *distil && slices.Contains(distilledSessions, name) {
			writeSample(t, name, frames)
		}
		assertSession(t, name, frames)
	}
}

func assertSession(t *testing.T, name string, frames []wire.Frame) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		if len(frames) < 10 {
			t.Fatalf("%d frames", len(frames))
		}
		assertSameInChunks(t, assertRows(t, frames), rand.New(rand.NewPCG(1, uint64(len(frames)))))
	})
}

// distilledSessions have a stream of a GET, questions, rounds and subscriptions.
var distilledSessions = []string{"ts-v1-1.32.2/vs-everything", "ts-v2-2.4.0/vs-ts-v2", "go-sdk-1.8.0/vs-everything", "go-sdk-1.8.0/vs-gosdk-stateful"}

func writeSample(t *testing.T, name string, frames []wire.Frame) {
	t.Helper()
	b := capture.AppendHead(nil, capture.Head{Started: noon, Target: name, By: capture.ByProxy})
	for _, f := range frames {
		b = capture.AppendFrame(b, distilled(f))
	}
	dir := filepath.Join("testdata", "sessions")
	if err := os.MkdirAll(dir, fs.ModePerm); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "_")+".jsonl"), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func sampleOf(t *testing.T, name string) (frames []wire.Frame) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := wholeLines(f); ; {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		if line.Frame != nil {
			frames = append(frames, *line.Frame)
		}
	}
}
