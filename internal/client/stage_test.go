package client

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// A stage is the scripted server of a transcript: it plays the sections one by
// one, over a network in memory or over a pair of pipes.
type stage struct {
	t        *testing.T
	requests chan *visit
	lines    chan string
	stop     chan struct{}
	played   chan struct{}
	laws     *laws // nil if the user writes the messages

	mu      sync.Mutex
	conns   []net.Conn
	rest    []txtar.File
	last    *visit         // the newest request
	id      []byte         // of the newest request that had one, for $id
	task    []byte         // the newest task of the client's own, for $task
	streams []*visit       // the answers that are still open
	stdout  io.WriteCloser // of the newest pipe
}

// A visit is one HTTP request on the stage.
type visit struct {
	req  *http.Request
	body []byte
	conn net.Conn
	// gone is closed when the client closed the connection.
	gone chan struct{}
}

func newStage(t *testing.T, script []txtar.File, l *laws) *stage {
	s := &stage{
		t: t, laws: l, rest: expand(script), requests: make(chan *visit), lines: make(chan string),
		stop: make(chan struct{}), played: make(chan struct{}),
	}
	go s.play()
	return s
}

// expand writes out the openings that many transcripts begin with: "handshake
// REVISION [SESSION]", the same over lines, and "discover [line]".
func expand(script []txtar.File) (out []txtar.File) {
	for _, f := range script {
		words := strings.Fields(f.Name)
		switch words[0] {
		case "handshake":
			out = append(out, opening(words[1:])...)
		case "discover":
			result := `{"jsonrpc":"2.0","id":$id,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},` +
				`"resultType":"complete","ttlMs":0,"cacheScope":"private"}}` + "\n"
			from, to := "> POST", "< 200 json"
			if len(words) > 1 {
				from, to = "> line", "< line"
			}
			out = append(out, txtar.File{Name: from, Data: []byte(`{"method":"server/discover"}`)}, txtar.File{Name: to, Data: []byte(result)})
		default:
			out = append(out, f)
		}
	}
	return out
}

func opening(words []string) []txtar.File {
	ask := `{"method":"initialize","params":{"protocolVersion":"` + words[0] + `"}}`
	result := `{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"` + words[0] + `","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}` + "\n"
	done := `{"method":"notifications/initialized"}`
	if len(words) > 1 && words[1] == "line" {
		return []txtar.File{{Name: "> line", Data: []byte(ask)}, {Name: "< line", Data: []byte(result)}, {Name: "> line", Data: []byte(done)}}
	}
	if len(words) > 1 {
		ask, result = "Mcp-Session-Id: -\n"+ask, "Mcp-Session-Id: "+words[1]+"\n\n"+result
		done = "Mcp-Session-Id: " + words[1] + "\n" + done
	}
	return []txtar.File{
		{Name: "> POST", Data: []byte(ask)},
		{Name: "< 200 json", Data: []byte(result)},
		{Name: "> POST", Data: []byte(done)},
		{Name: "< 202"},
	}
}

func (s *stage) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	s.mu.Lock()
	s.conns = append(s.conns, server)
	s.mu.Unlock()
	go s.serve(server)
	return client, nil
}

// serve reads the requests of one connection; their answers are written by play.
func (s *stage) serve(conn net.Conn) {
	gone := make(chan struct{})
	defer close(gone)
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		select {
		case s.requests <- &visit{req: req, body: body, conn: conn, gone: gone}:
		case <-s.stop:
			return
		}
	}
}

// pipe is a server on a pair of pipes. A second call is a second process.
func (s *stage) pipe() (io.Reader, io.WriteCloser) {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	s.mu.Lock()
	s.stdout = serverOut
	s.mu.Unlock()
	go func() {
		in := bufio.NewReader(serverIn)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				serverOut.Close()
				return
			}
			select {
			case s.lines <- line:
			case <-s.stop:
				serverIn.Close()
				serverOut.Close()
				return
			}
		}
	}()
	return clientIn, clientOut
}

// close ends the stage and returns what was not played.
func (s *stage) close() string {
	close(s.stop)
	s.mu.Lock()
	for _, c := range s.conns {
		c.Close()
	}
	if s.stdout != nil {
		s.stdout.Close()
	}
	s.mu.Unlock()
	<-s.played
	var names []string
	for _, f := range s.rest {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

func (s *stage) play() {
	defer close(s.played)
	for len(s.rest) > 0 {
		if !s.scene(s.rest[0]) {
			return
		}
		s.rest = s.rest[1:]
	}
	// Any request or line from here on is unexpected.
	select {
	case v := <-s.requests:
		s.t.Errorf("not expected: %s %s %s", v.req.Method, v.req.URL, v.body)
	case line := <-s.lines:
		s.t.Errorf("not expected: %s", line)
	case <-s.stop:
	}
}

// scene plays one section, and reports false if the client left before.
func (s *stage) scene(f txtar.File) bool {
	mark, what, _ := strings.Cut(f.Name, " ")
	switch mark {
	case ">":
		if what == "line" {
			return s.expectLine(f.Data)
		}
		return s.expect(what, f.Data)
	case "<":
		s.answer(strings.Fields(what), f.Data)
	case "hung":
		select {
		case <-s.newest().gone:
		case <-s.stop:
			return false
		}
	case "wait":
		span, err := time.ParseDuration(what)
		if err != nil {
			s.t.Error(err)
		}
		time.Sleep(span)
	default:
		if !strings.HasSuffix(f.Name, ".json") {
			s.t.Errorf("unknown section %q", f.Name)
		}
	}
	return true
}

func (s *stage) newest() *visit {
	if n := len(s.streams); n > 0 {
		return s.streams[n-1]
	}
	return s.last
}

// expect waits for the next request and compares it with the section.
func (s *stage) expect(method string, want []byte) bool {
	select {
	case s.last = <-s.requests:
	case <-s.stop:
		return false
	}
	v := s.last
	if verb, path, ok := strings.Cut(method, " "); ok {
		method = verb
		if v.req.URL.RequestURI() != path {
			s.t.Errorf("got a %s to %s, want %s", v.req.Method, v.req.URL.RequestURI(), path)
		}
	}
	if v.req.Method != method {
		s.t.Errorf("got %s %s, want %s", v.req.Method, v.body, method)
	}
	s.note(v.body)
	if s.laws != nil {
		if broken := s.laws.brokenHTTP(v.req.Method, v.req.Header, v.body); broken != "" {
			s.t.Errorf("%s: %s %s", broken, v.req.Method, v.body)
		}
	}
	header, body := split(want)
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		got := v.req.Header.Values(name)
		if value == "-" && len(got) > 0 || value != "-" && (len(got) != 1 || got[0] != value) {
			s.t.Errorf("%s %s: header %s is %q, want %q", method, v.body, name, got, value)
		}
	}
	s.members(body, v.body)
	return true
}

func (s *stage) expectLine(want []byte) bool {
	select {
	case line := <-s.lines:
		s.note([]byte(line))
		if s.laws != nil {
			if broken := s.laws.broken([]byte(line)); broken != "" {
				s.t.Errorf("%s: %s", broken, line)
			}
		}
		s.members(bytes.TrimSpace(want), []byte(strings.TrimSuffix(line, "\n")))
		return true
	case <-s.stop:
		return false
	}
}

var contentTypes = map[string]string{
	"json": "application/json", "sse": "text/event-stream", "text": "text/plain; charset=utf-8", "html": "text/html",
}

// answer writes to the newest request or stream, or to standard output.
func (s *stage) answer(words []string, data []byte) {
	data = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("$id"), s.id), []byte("$task"), s.task)
	switch words[0] {
	case "line":
		s.write(data)
		return
	case "eof":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stdout.Close()
		return
	case "more", "end", "cut":
		s.goOn(words[0], data)
		return
	}
	status, err := strconv.Atoi(words[0])
	if err != nil {
		s.t.Errorf("unknown answer %q", words)
		return
	}
	kind, how := "none", ""
	if len(words) > 1 {
		kind = words[1]
	}
	if len(words) > 2 {
		how = words[2]
	}
	header, body := split(data)
	s.respond(status, kind, how, header, body)
}

func (s *stage) write(data []byte) {
	s.mu.Lock()
	out := s.stdout
	s.mu.Unlock()
	_, _ = out.Write(data) // a client that left is not the server's fault
}

func (s *stage) respond(status int, kind, how string, header []string, body []byte) {
	v := s.last
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	if kind != "none" {
		fmt.Fprintf(&b, "Content-Type: %s\r\n", contentTypes[kind])
	}
	if how == "gzip" {
		header = append(header, "Content-Encoding: gzip")
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(body)
		z.Close()
		body = packed.Bytes()
	}
	for _, h := range header {
		b.WriteString(h + "\r\n")
	}
	if kind == "sse" {
		fmt.Fprintf(&b, "Transfer-Encoding: chunked\r\n\r\n")
		v.chunk(&b, body)
		_, _ = v.conn.Write(b.Bytes())
		s.streams = append(s.streams, v)
		switch how {
		case "open":
		case "cut":
			s.goOn("cut", nil)
		default:
			s.goOn("end", nil)
		}
		return
	}
	size := len(body)
	if how == "short" {
		size++
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", size, body)
	_, _ = v.conn.Write(b.Bytes())
	if how == "short" {
		v.conn.Close()
	}
}

func (v *visit) chunk(b *bytes.Buffer, body []byte) {
	if len(body) > 0 {
		fmt.Fprintf(b, "%x\r\n%s\r\n", len(body), body)
	}
}

// goOn writes to the newest open stream, and ends it.
func (s *stage) goOn(how string, data []byte) {
	v := s.newest()
	var b bytes.Buffer
	v.chunk(&b, data)
	if how == "end" {
		b.WriteString("0\r\n\r\n")
	}
	_, _ = v.conn.Write(b.Bytes())
	if how == "cut" {
		v.conn.Close()
	}
	if how != "more" && len(s.streams) > 0 {
		s.streams = s.streams[:len(s.streams)-1]
	}
}
