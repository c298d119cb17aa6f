//go:build unix

package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // net/http logs responses to no request
	os.Exit(m.Run())
}

// goodResponse is what a scripted server answers to all requests but the first.
const goodResponse = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

// A scripted is a raw TCP server that answers the first request with the pieces of a script, and
// then closes the connection or leaves it open.
type scripted struct {
	l      net.Listener
	pieces [][]byte
	closes bool

	mu       sync.Mutex
	accepted int
	// on has the number of the connection of each request.
	on   []int
	open []net.Conn
	// wrote is closed once all pieces were written, and the connection closed where it is to be.
	wrote chan struct{}
}

func serveScript(tb testing.TB, pieces [][]byte, closes bool) *scripted {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &scripted{l: l, pieces: pieces, closes: closes, wrote: make(chan struct{})}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.accepted++
			s.open = append(s.open, conn)
			n := s.accepted
			s.mu.Unlock()
			go s.serve(conn, n)
		}
	}()
	return s
}

func (s *scripted) serve(conn net.Conn, n int) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		s.mu.Lock()
		s.on = append(s.on, n)
		first := len(s.on) == 1
		s.mu.Unlock()
		if !first {
			_, _ = io.WriteString(conn, goodResponse)
			continue
		}
		for _, piece := range s.pieces {
			if _, err := conn.Write(piece); err != nil {
				break
			}
		}
		if s.closes {
			conn.Close()
		}
		close(s.wrote)
	}
}

func (s *scripted) stop() {
	s.l.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.open {
		conn.Close()
	}
}

// A got is what a client got for one request.
type got struct {
	failed           bool // without a response
	status           int
	header, trailer  http.Header
	body             string
	cut              bool // the body
	length           int64
	encoding         []string
	closed, bodyless bool
}

func send(via http.RoundTripper, method, url string, body io.Reader) (g got) {
	req, err := http.NewRequest(method, url, body)
	if err != nil {
		panic(err)
	}
	resp, err := via.RoundTrip(req)
	if err != nil {
		return got{failed: true}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return got{status: resp.StatusCode, header: resp.Header, trailer: resp.Trailer, body: string(raw), cut: err != nil,
		length: resp.ContentLength, encoding: resp.TransferEncoding, closed: resp.Close, bodyless: resp.Body == http.NoBody}
}

const headLimit = 8 << 10

func std() *http.Transport {
	return &http.Transport{DisableCompression: true, MaxResponseHeaderBytes: headLimit, MaxIdleConnsPerHost: 256, IdleConnTimeout: time.Minute}
}

func own() *Transport { return New(std(), time.Now) }

// conversation sends a request to a scripted server, and then another one, whose method makes
// it one that may be sent again. It returns what came, and whether they shared a connection.
func conversation(tb testing.TB, via http.RoundTripper, method string, pieces [][]byte, closes bool) (first, second got, shared bool) {
	s := serveScript(tb, pieces, closes)
	defer s.stop()
	url := "http://" + s.l.Addr().String() + "/mcp"
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader(`{"jsonrpc":"2.0"}`)
	}
	first = send(via, method, url, body)
	<-s.wrote
	second = send(via, http.MethodGet, url, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	return first, second, len(s.on) == 2 && s.on[0] == s.on[1]
}

// whole reports that a response needs no end of the connection, and how much is left behind it.
func whole(raw []byte, method string) (ok bool, left int) {
	in := bufio.NewReaderSize(bytes.NewReader(raw), len(raw)+16)
	for {
		resp, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
			return false, 0
		}
		if resp.StatusCode/100 == 1 {
			continue
		}
		_, err = io.Copy(io.Discard, resp.Body)
		rest, _ := io.ReadAll(in)
		return err == nil && !(resp.ContentLength < 0 && len(resp.TransferEncoding) == 0), len(rest)
	}
}

// compare holds a Transport against the http.Transport.
func compare(tb testing.TB, method string, pieces [][]byte) {
	raw := slices.Concat(pieces...)
	ok, left := whole(raw, method)
	modes := []bool{true}
	if ok {
		modes = append(modes, false)
	}
	for _, closes := range modes {
		t := own()
		first, second, shared := conversation(tb, t, method, pieces, closes)
		t.CloseIdleConnections()
		label := fmt.Sprintf("%s %q in %d pieces, closes %v", method, raw, len(pieces), closes)
		if second.body != "good" || second.status != 200 {
			tb.Fatalf("%s: the second response is %+v", label, second)
		}
		if left > 0 || closes {
			if shared {
				tb.Fatalf("%s: the connection was used again", label)
			}
		}
		o := std()
		want, _, wantShared := conversation(tb, o, method, pieces, closes)
		o.CloseIdleConnections()
		if !reflect.DeepEqual(first, want) {
			tb.Fatalf("%s:\n got %+v\nwant %+v", label, first, want)
		}
		if left == 0 && shared != wantShared {
			tb.Fatalf("%s: the connection was used again: %v, want %v", label, shared, wantShared)
		}
	}
}

// responses are those that the table and the fuzz test begin with.
var responses = []string{
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
	"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 202 Accepted\r\n\r\n",
	"HTTP/1.1 204 No Content\r\n\r\n",
	"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n1\r\na\r\n0\r\nX-A: b\r\n\r\n",
	"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
	"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end",
	"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
	"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
	"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
	// What must not be taken for a message, or not for two.
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n{}",
	"HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length: 2\r\n\r\n{}",
	"HTTP/1.1 200 OK\r\nX A: b\r\nContent-Length: 2\r\n\r\n{}",
	"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
	"HTTP/1.1 2000 OK\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\na",
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
	"HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nevil",
	"SSH-2.0-server\r\n",
	"<html>\n",
	"\x15\x03\x01\x00\x02\x02\x16",
}

// Each response, cut off behind each byte, split anywhere, and whole.
func TestSameAsNetHTTP(t *testing.T) {
	giant := "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", headLimit) + "\r\nContent-Length: 0\r\n\r\n"
	nearly := "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", headLimit-1000) + "\r\nContent-Length: 20000\r\n\r\n" + strings.Repeat("b", 20000)
	hints := strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n", 1000) + goodResponse
	random := rand.New(rand.NewPCG(1, 2))
	for _, raw := range append([]string{giant, nearly, hints}, responses...) {
		methods := []string{http.MethodPost, http.MethodGet, http.MethodHead}
		for _, method := range methods {
			compare(t, method, split(raw, func(int) bool { return false }))
			compare(t, method, split(raw, func(int) bool { return random.IntN(8) == 0 }))
			if len(raw) > 1000 || method != http.MethodPost {
				continue
			}
			for cut := range len(raw) {
				compare(t, method, split(raw[:cut], func(int) bool { return random.IntN(8) == 0 }))
			}
		}
	}
}

// split divides raw behind each byte for which at is true.
func split(raw string, at func(i int) bool) (pieces [][]byte) {
	from := 0
	for i := range len(raw) {
		if at(i) || i == len(raw)-1 {
			pieces = append(pieces, []byte(raw[from:i+1]))
			from = i + 1
		}
	}
	return pieces
}

func FuzzSameAsNetHTTP(f *testing.F) {
	for i, raw := range responses {
		f.Add([]byte(raw), uint64(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, raw []byte, splits uint64, method uint8) {
		if len(raw) > 2*headLimit || bytes.Contains(raw, []byte(" 101")) { // an upgrade has no body here
			return
		}
		compare(t, []string{http.MethodPost, http.MethodGet, http.MethodHead}[method%3],
			split(string(raw), func(i int) bool { return splits>>(i%64)&1 == 1 && i < 200 }))
	})
}
