//go:build peers

package peers

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/tests/module"
	"mcpc/internal/tests/program"
	"mcpc/internal/wire"
)

// Real clients talk to real servers through mcpc proxy and mcpc tap, and the traffic is compared on
// both sides of them.

// crossedNotes are the HTTP exchanges at one place: heads of one hop and the date left out, bodies
// by their length and hash. An empty response may have a Content-Length at one hop and lack it at
// the next.
type crossedNotes struct {
	mu  sync.Mutex
	all []string
	// requests counts the JSON-RPC requests by method.
	requests map[string]int
}

// noting forwards to a URL and notes the traffic there. It is no part of mcpc.
func noting(t *testing.T, to string) (at string, notes *crossedNotes) {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	notes = &crossedNotes{requests: map[string]int{}}
	forward := &httputil.ReverseProxy{
		FlushInterval: -1, Transport: &http.Transport{DisableCompression: true},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, target.Host
		},
		ModifyResponse: func(r *http.Response) error {
			r.Body = &notedBody{ReadCloser: r.Body, note: func(body []byte) {
				notes.add("answer", fmt.Sprint(r.StatusCode), r.Header, body)
			}}
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		notes.add(r.Method, r.RequestURI, r.Header, body)
		if m := wire.ParseMessage(body); m.Kind == wire.Request {
			notes.mu.Lock()
			notes.requests[m.Method]++
			notes.mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + target.Path, notes
}

func (n *crossedNotes) add(what, of string, h http.Header, body []byte) {
	var fields []string
	for name, values := range h {
		if !slices.Contains([]string{"Date", "Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length"}, name) {
			fields = append(fields, fmt.Sprintf("%s=%q", name, values))
		}
	}
	slices.Sort(fields)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, fmt.Sprintf("%s %s %v %d %x", what, of, fields, len(body), sha256.Sum256(body)))
}

// sorted are the notes without an order: exchanges overlap.
func (n *crossedNotes) sorted() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(slices.Values(n.all))
}

// A notedBody notes all of a body when it has ended.
type notedBody struct {
	io.ReadCloser
	seen []byte
	note func([]byte)
}

func (b *notedBody) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	b.seen = append(b.seen, to[:n]...)
	if errors.Is(err, io.EOF) {
		b.note(b.seen)
	}
	return n, err
}

// watching starts mcpc proxy before a URL and gives its own, and its recording.
func watching(t *testing.T, to string) (at, record string, stop func() string) {
	t.Helper()
	record = filepath.Join(t.TempDir(), "traffic")
	at, stop = listening(t, "proxy", "--to", to, "--listen", "127.0.0.1:0", "--record", record)
	return at, record, stop
}

// listening starts mcpc as a server and gives its URL, and what it printed once
// it was interrupted.
func listening(t *testing.T, args ...string) (at string, ended func() string) {
	t.Helper()
	cmd := exec.Command("mcpc", args...)
	cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+t.TempDir())
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found, all := make(chan string, 1), make(chan string, 1)
	go func() {
		var text strings.Builder
		lines := bufio.NewScanner(stderr)
		for told := false; lines.Scan(); {
			text.WriteString(lines.Text() + "\n")
			if _, rest, ok := strings.Cut(lines.Text(), "listening on "); ok && !told {
				told = true
				found <- strings.Fields(rest)[0]
			}
		}
		close(found)
		all <- text.String()
	}()
	ended = sync.OnceValue(func() string {
		_ = cmd.Process.Signal(syscall.SIGINT)
		text := <-all
		_ = cmd.Wait()
		return text
	})
	t.Cleanup(func() { ended() })
	at, ok := <-found
	if !ok {
		t.Fatalf("mcpc %q does not listen:\n%s", args, ended())
	}
	return at, ended
}

// peerClients returns command lines; a target's words are added to them.
func peerClients(t *testing.T) map[string][]string {
	t.Helper()
	dir := peersDir(t)
	return map[string][]string{
		"ts-v1": append(nodeArgv(t), filepath.Join(dir, "ts-clients", "v1.mjs")),
		"ts-v2": append(nodeArgv(t), filepath.Join(dir, "ts-clients", "v2.mjs")),
		"go":    {filepath.Join(dir, "bin", "go-client")},
	}
}

// nodeArgv returns the words that start Node like a peer's: the first words of a peer.
func nodeArgv(t *testing.T) []string {
	t.Helper()
	argv := peerNamed(t, "ts-server-stdio").argv
	return slices.Clone(argv[:len(argv)-1])
}

// peersDir returns the directory of scripts/peers.sh: MCPC_PEERS, or .peers in the root of the repository.
func peersDir(t *testing.T) string {
	t.Helper()
	name := os.Getenv("MCPC_PEERS")
	if filepath.IsAbs(name) {
		return name
	}
	if name == "" {
		name = ".peers"
	}
	return module.Path(t, name)
}

func clientSays(t *testing.T, client []string, target ...string) string {
	t.Helper()
	argv := append(slices.Clone(client), target...)
	cmd := exec.Command(argv[0], argv[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || !bytes.Contains(out, []byte("get-sum")) {
		t.Fatalf("%q: %v\n%s\n%s", argv, err, out, stderr.String())
	}
	return withoutTimes(string(out))
}

// withoutTimes leaves out the time of day in the text of a resource.
func withoutTimes(text string) string {
	return regexp.MustCompile(`\d+:\d\d:\d\d [AP]M`).ReplaceAllString(text, "TIME")
}

// rowsByMethod counts the rows of a recording that came to an end. A client may have ended before
// its last tap has written its frames.
func rowsByMethod(t *testing.T, record string) (all map[string]int, notes exchange.Notes) {
	t.Helper()
	recorded := openCapture(t, record)
	for deadline := time.Now().Add(program.Patience); time.Now().Before(deadline); {
		if !slices.ContainsFunc(recorded.Rows(), (*rows.Row).IsOpen) {
			break
		}
		recorded.Close()
		time.Sleep(50 * time.Millisecond)
		recorded = openCapture(t, record)
	}
	defer recorded.Close()
	all = map[string]int{}
	for _, r := range recorded.Rows() {
		if r.IsOpen() || r.Orphan {
			t.Errorf("%s %s %s: %s, orphan %v", r.Number(), r.Method, r.Name, r.Channel, r.Orphan)
		}
		if !r.IsSeparate && r.Dir == wire.Sent {
			all[r.Method]++
		}
		notes.Notifications += r.Notes.Notifications
		notes.Questions += r.Notes.Questions
		notes.Rounds += r.Notes.Rounds
	}
	for _, f := range recorded.Findings() {
		t.Errorf("%+v", f)
	}
	return all, notes
}

func TestPeerThroughTheProxy(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"everything-http", "ts-server-http", "go-sdk-events", "go-sdk-stateless"} {
		for name, client := range peerClients(t) {
			t.Run(server+" "+name, func(t *testing.T) {
				t.Parallel()
				direct := peerNamed(t, server).start(t)[1]
				inner, behind := noting(t, direct)
				at, record, stop := watching(t, inner)
				outer, before := noting(t, at)
				t.Logf("the server is %s, the proxy %s, before it %s", direct, at, outer)
				alone, through := clientSays(t, client, "http", direct), clientSays(t, client, "http", outer)
				if diff := cmp.Diff(alone, through); diff != "" {
					t.Errorf("what the client saw (-alone +through):\n%s", diff)
				}
				stop()
				compareNotes(t, before, behind)
				rows, notes := rowsByMethod(t, record)
				rounds := notes.Rounds
				want := before.requests
				want["tools/call"] -= rounds
				if diff := cmp.Diff(want, rows); diff != "" {
					t.Errorf("rows (-sent +recorded):\n%s", diff)
				}
				t.Logf("%d exchanges of HTTP alike; %v", len(before.all)/2, notes)
			})
		}
	}
}

// onOneSide returns the notes that only one side has.
func onOneSide(before, behind *crossedNotes) (missing, rest []string) {
	rest = behind.sorted()
	for _, note := range before.sorted() {
		if at := slices.Index(rest, note); at >= 0 {
			rest = slices.Delete(rest, at, at+1)
		} else {
			missing = append(missing, note)
		}
	}
	return missing, rest
}

// compareNotes: everything that the client sent and received is the same on the server's side of
// the proxy. The end of a response may be seen only there, if the client has disconnected by then.
func compareNotes(t *testing.T, before, behind *crossedNotes) {
	t.Helper()
	missing, rest := onOneSide(before, behind)
	// The end of the last answer may still have to be noted.
	for deadline := time.Now().Add(program.Patience); time.Now().Before(deadline); {
		if len(missing) == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
		missing, rest = onOneSide(before, behind)
	}
	for _, note := range missing {
		t.Errorf("not behind the proxy: %s", note)
	}
	for _, note := range rest {
		if len(rest) > 2 || !strings.HasPrefix(note, "answer ") {
			t.Errorf("only behind the proxy: %s", note)
		}
	}
}

func TestPeerThroughTheTap(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"everything-stdio", "ts-server-stdio", "go-sdk-stdio"} {
		for name, client := range peerClients(t) {
			t.Run(server+" "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				argv := peerNamed(t, server).start(t)[1:]
				alone := clientSays(t, client, append([]string{"stdio"}, argv...)...)
				inner := wrapper(t, dir, "inner", "tee in.behind | "+shellWords(argv)+" | tee out.behind")
				outer := wrapper(t, dir, "outer", "tee in.before | mcpc tap --record traffic -- "+shellWords([]string{inner})+" | tee out.before")
				through := clientSays(t, client, "stdio", outer)
				if diff := cmp.Diff(alone, through); diff != "" {
					t.Errorf("what the client saw (-alone +through):\n%s", diff)
				}
				for _, side := range []string{"in", "out"} {
					before, behind := onBothSides(t, filepath.Join(dir, side+".before"), filepath.Join(dir, side+".behind"))
					if !bytes.Equal(before, behind) || len(before) < 1000 {
						t.Errorf("%s: %d bytes before the tap, %d behind it", side, len(before), len(behind))
					}
				}
				rows, notes := rowsByMethod(t, filepath.Join(dir, "traffic"))
				if rows["tools/call"] < 6 || rows["tools/list"] == 0 {
					t.Errorf("rows: %v", rows)
				}
				t.Logf("%v; %v", rows, notes)
			})
		}
	}
}

func wrapper(t *testing.T, dir, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncd "+shellWords([]string{dir})+"\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func openCapture(t *testing.T, record string) *rows.Capture {
	t.Helper()
	capture, err := rows.Open(record)
	if err != nil {
		t.Fatal(err)
	}
	return capture
}

func shellWords(argv []string) string {
	var words []string
	for _, word := range argv {
		words = append(words, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}

// onBothSides reads two files until they are equal and not empty, or for long enough: the client
// may have ended before its server's last process has written.
func onBothSides(t *testing.T, one, other string) (a, b []byte) {
	t.Helper()
	for deadline := time.Now().Add(program.Patience); time.Now().Before(deadline); {
		var errs [2]error
		a, errs[0] = os.ReadFile(one)
		b, errs[1] = os.ReadFile(other)
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		if len(a) > 0 && bytes.Equal(a, b) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return a, b
}
