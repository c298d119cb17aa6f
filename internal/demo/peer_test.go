package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// The bytes of a client, written by hand: no SDK on this side.
const (
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

	// meta is what every request since 2026-07-28 carries.
	meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"0"},` +
		`"io.modelcontextprotocol/clientCapabilities":{}}`
)

func initialize(revision, capabilities string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,`+
		`"capabilities":%s,"clientInfo":{"name":"raw","version":"0"}}}`, revision, capabilities)
}

func toolsCall(id int, name, arguments string, more ...string) string {
	members := append([]string{fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments)}, more...)
	return request(id, "tools/call", strings.Join(members, ","))
}

// request composes a request around the members of its params.
func request(id int, method, members string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, members)
}

// A message is what can come back.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// A peer is a client at the other end of Serve.
type peer struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	stop context.CancelCauseFunc
	done chan error // what Serve returned
}

func serve(t *testing.T) *peer {
	t.Helper()
	return serveWith(t, Options{})
}

func serveWith(t *testing.T, opts Options) *peer {
	t.Helper()
	ctx, stop := context.WithCancelCause(context.Background())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &peer{t: t, in: inW, out: bufio.NewReader(outR), stop: stop, done: make(chan error, 1)}
	go func() {
		err := Serve(ctx, inR, outW, opts)
		outW.Close()
		p.done <- err
	}()
	return p
}

// handshake serves a client that has finished the initialize exchange.
func handshake(t *testing.T, revision, capabilities string) *peer {
	t.Helper()
	p := serve(t)
	p.send(initialize(revision, capabilities))
	p.recv()
	p.send(initialized)
	return p
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatalf("sending %s: %v", line, err)
	}
}

func (p *peer) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("reading a line: %v (got %q)", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *peer) recv() message {
	p.t.Helper()
	return decode(p.t, p.line())
}

func (p *peer) do(line string) message {
	p.t.Helper()
	p.send(line)
	return p.recv()
}

// close ends the input and returns what else came, and what Serve returned.
func (p *peer) close() (rest string, err error) {
	p.t.Helper()
	p.in.Close()
	b, err := io.ReadAll(p.out)
	if err != nil {
		p.t.Fatalf("reading to the end: %v", err)
	}
	return string(b), <-p.done
}

// finish is close for a test that expects nothing more.
func (p *peer) finish() {
	p.t.Helper()
	if rest, err := p.close(); rest != "" || err != nil {
		p.t.Errorf("at the end: got %q and error %v, want nothing", rest, err)
	}
}

func decode(t *testing.T, line string) (m message) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatalf("message %q: %v", line, err)
	}
	return m
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}
