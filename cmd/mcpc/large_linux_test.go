package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/program"
)

// largeText is the size of the text in a large result. It does not fit below the limit of 48 MB beside the
// 27 MB of mcpc itself: a result that is read into memory fails the test.
const largeText = 32 << 20

// failingText is the size of the text in results that fail at each tenth: some in memory, some in a file.
const failingText = 4 << 20

var (
	largeLine   = strings.Repeat("what a worker did, said \"so\" and é\n", 1000)
	largeQuoted = strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(largeLine)
	largeBlob   = "AbCdEf0123+/9876"
	largeSecret = `"result":{"_meta":{"password":"in a large answer"},`
)

// writeLarge writes a result in pieces, and calls at behind each tenth.
func writeLarge(w io.Writer, size int, head, tail string, at func(tenth int)) {
	_, _ = io.WriteString(w, head)
	pieces := size / len(largeQuoted)
	for i := range pieces {
		if tenth := i * 10 / pieces; tenth > (i-1)*10/pieces && i > 0 {
			at(tenth)
		}
		if _, err := io.WriteString(w, largeQuoted); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, tail)
}

// A largeServer answers each request with a large result, changed by the words of its path.
type largeServer struct {
	*httptest.Server
	// size is that of the text.
	size int
	// at is called behind each tenth of a result; a false one ends the connection there.
	at func(tenth int) bool
}

func newLargeServer(t *testing.T) *largeServer {
	s := &largeServer{size: largeText, at: func(int) bool { return true }}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&req)
		if facts, ok := map[string]string{
			"server/discover": `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}`,
			"tools/list":      `"tools":[{"name":"large","inputSchema":{"type":"object"}}]`,
		}[req.Method]; ok {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public",%s}}`, req.ID, facts)
			return
		}
		id, head, tail := string(req.ID), `"result":{"resultType":"complete","content":[{"type":"text","text":"`, `"}]}}`
		has := func(word string) bool { return strings.Contains(r.URL.Path, word) }
		switch {
		case has("wrong-id"):
			id = "77"
		case has("broken"):
			tail = `"}]]}`
		case has("blob"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[{"type":"image","data":"%s"}]}}`, id, strings.Repeat(largeBlob, s.size/len(largeBlob)))
			return
		case has("secret"):
			head = largeSecret + head[len(`"result":{`):]
		case has("error"):
			head, tail = `"error":{"code":-32000,"message":"no","data":"`, `"}}`
		}
		head = `{"jsonrpc":"2.0","id":` + id + "," + head
		w.Header().Set("Content-Type", "application/json")
		var out io.Writer = w
		switch {
		case has("event"):
			w.Header().Set("Content-Type", "text/event-stream")
			head, tail = "data: "+head, tail+"\n\n"
		case has("gzip"):
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			out = z
		case has("length"):
			w.Header().Set("Content-Length", strconv.Itoa(len(head)+s.size/len(largeQuoted)*len(largeQuoted)+len(tail)))
		}
		writeLarge(out, s.size, head, tail, func(tenth int) {
			if !s.at(tenth) {
				panic(http.ErrAbortHandler)
			}
		})
	}))
	t.Cleanup(s.Close)
	return s
}

// large is a command that prints one of its results.
func (s *largeServer) large(t *testing.T, state, kind string, more ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program.BuiltMCPC(t), s.words(state, kind, more...)...)
	cmd.Env = append(program.CleanEnv(), "TMPDIR="+t.TempDir())
	return cmd
}

// words are the arguments of such a command.
func (s *largeServer) words(state, kind string, more ...string) []string {
	return append([]string{"--state", state, "-s", s.URL + "/" + kind, "--max-message-size", "0", "call", "large"}, more...)
}

// fails runs such a command in the process of the test.
func (s *largeServer) fails(t *testing.T, state, kind string) clitest.Output {
	t.Helper()
	s.size = failingText
	return clitest.MCPC(t, nil, s.words(state, kind, "--json")...)
}

// leftOver is more than a pipe holds.
const leftOver = 2 << 20

// Large results come out as they are, however they came, and take little memory.
func TestLargeResults(t *testing.T) {
	t.Parallel()
	s := newLargeServer(t)
	for _, kind := range []string{"length", "chunked", "gzip", "event", "secret", "secret-event"} {
		for _, flag := range []string{"--json", "--no-record", "--output=/dev/stdout"} {
			want, json, length := sha256.New(), flag == "--json", largeText/len(largeQuoted)*len(largeLine)
			if json {
				length = largeText / len(largeQuoted) * len(largeQuoted)
				head := "{"
				if strings.HasPrefix(kind, "secret") {
					head = largeSecret[len(`"result":`):]
				}
				writeLarge(want, largeText, head+`"resultType":"complete","content":[{"type":"text","text":"`, "\"}]}\n", func(int) {})
			} else {
				for range largeText / len(largeQuoted) {
					_, _ = io.WriteString(want, largeLine)
				}
			}
			state := t.TempDir()
			cmd := s.large(t, state, kind, flag)
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			got := sha256.New()
			// The process is still there: not all that is left fits into the pipe.
			if _, err := io.CopyN(got, stdout, int64(length-leftOver)); err != nil {
				t.Fatal(err)
			}
			peak := peakOf(t, cmd.Process.Pid)
			if _, err := io.Copy(got, stdout); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
				t.Errorf("%s %s: %v, or another result", kind, flag, err)
			}
			if peak > 48<<20 { // the goal of docs/dev/speed.md
				t.Errorf("%s %s: a peak of %d MB", kind, flag, peak>>20)
			}
			nothingLeft(t, state, flag != "--no-record")
		}
	}
}

// A large blob that is saved is what the server sent, and takes little memory.
func TestLargeBlobs(t *testing.T) {
	t.Parallel()
	s := newLargeServer(t)
	for _, flag := range []string{"--no-record", "--timeout=5m"} {
		state := t.TempDir()
		cmd := s.large(t, state, "blob", "--output=/dev/stdout", flag)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, largeText/4*3)
		if _, err := io.ReadFull(stdout, got[:len(got)-leftOver]); err != nil {
			t.Fatal(err)
		}
		peak := peakOf(t, cmd.Process.Pid)
		_, err = io.ReadFull(stdout, got[len(got)-leftOver:])
		if ended := cmd.Wait(); err != nil || ended != nil || base64.StdEncoding.EncodeToString(got) != strings.Repeat(largeBlob, largeText/len(largeBlob)) {
			t.Errorf("%s: %v, %v, or another blob", flag, err, ended)
		}
		if peak > 48<<20 { // the goal of docs/dev/speed.md
			t.Errorf("%s: a peak of %d MB", flag, peak>>20)
		}
		nothingLeft(t, state, flag != "--no-record")
	}
}

// peakOf is the most memory that a process had.
func peakOf(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kB, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kB << 10
}

// nothingLeft checks that a run left no file but those of the state, no secret in them, and a
// recording that can be read.
func nothingLeft(t *testing.T, state string, recorded bool) {
	t.Helper()
	_ = filepath.WalkDir(state, func(name string, d fs.DirEntry, _ error) error {
		if strings.HasPrefix(d.Name(), ".mcpc-") {
			t.Errorf("left behind: %s", name)
		}
		if text, _ := os.ReadFile(name); bytes.Contains(text, []byte("in a large answer")) {
			t.Errorf("%s has the secret", name)
		}
		return nil
	})
	if got := clitest.MCPC(t, nil, "--state", state, "log"); got.Code != 0 || recorded && !strings.Contains(got.Stdout, "tools/call") {
		t.Errorf("the log: %+v", got)
	}
}

// What is no whole answer is not printed, wherever it ends.
func TestLargeResultsThatFail(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]struct {
		code   int
		stderr string
	}{
		"wrong-id": {8, "77"}, "broken": {8, "byte"}, "error": {6, "no"},
		"wrong-id-event": {8, "77"}, "broken-event": {8, "byte"}, "gzip-broken": {8, "byte"},
	} {
		s, state := newLargeServer(t), t.TempDir()
		if got := s.fails(t, state, kind); got.Stdout != "" || got.Code != want.code || !strings.Contains(got.Stderr, want.stderr) {
			t.Errorf("%s: %d bytes, ends with %d, want %d\n%.300s", kind, len(got.Stdout), got.Code, want.code, got.Stderr)
		}
		nothingLeft(t, state, true)
	}
	for tenth := 1; tenth < 10; tenth++ {
		for _, kind := range []string{"length", "chunked", "event"} {
			s, state := newLargeServer(t), t.TempDir()
			s.at = func(at int) bool { return at < tenth }
			if got := s.fails(t, state, kind); got.Stdout != "" || got.Code != 7 {
				t.Errorf("%s, cut at %d tenths: %d bytes, ends with %d\n%.300s", kind, tenth, len(got.Stdout), got.Code, got.Stderr)
			}
			nothingLeft(t, state, true)
		}
	}
}

// Signals end the command without an answer, wherever they come.
func TestSignalsDuringLargeResults(t *testing.T) {
	t.Parallel()
	for tenth := 1; tenth < 10; tenth++ {
		for want, sig := range map[string]os.Signal{"SIGKILL": syscall.SIGKILL, "SIGINT": syscall.SIGINT} {
			s, state := newLargeServer(t), t.TempDir()
			s.size = failingText
			var stdout bytes.Buffer
			cmd := s.large(t, state, "chunked", "--json")
			cmd.Stdout = &stdout
			started := make(chan struct{}) // cmd.Process is set
			ended := make(chan struct{})
			s.at = func(at int) bool {
				if at == tenth {
					<-started
					_ = cmd.Process.Signal(sig)
					<-ended
				}
				return at < tenth
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			close(started)
			_ = cmd.Wait()
			close(ended)
			if got := program.Ending(cmd.ProcessState); got != want || stdout.Len() > 0 {
				t.Errorf("%v at %d tenths: %d bytes, ends with %s", sig, tenth, stdout.Len(), got)
			}
			nothingLeft(t, state, false)
		}
	}
}
