package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// assertHead holds the head that is written against that of http.Request.Write, and reports
// whether one was.
func assertHead(t *testing.T, req *http.Request, body string) bool {
	t.Helper()
	req.Body, req.ContentLength = NewBytes([]byte(body)), int64(len(body))
	head, ok := appendHead(nil, req)
	if !ok {
		return false
	}
	var want bytes.Buffer
	if err := forStd(req).Write(&want); err != nil {
		t.Fatalf("net/http does not write %+v: %v", req, err)
	}
	if got := string(head) + body; got != want.String() {
		t.Fatalf("the request is written as\n%q\nand by net/http as\n%q", got, want.String())
	}
	return true
}

func TestHeadsAreAsNetHTTPWritesThem(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	written := 0
	for range 5000 {
		req := &http.Request{Method: pick("POST", "PUT", "GET"), Host: pick("", "", "example.com", "h:80", "[::1]:80", "[fe80::1%25a]", "bad host", "ä.example"),
			URL:    &url.URL{Scheme: "http", Host: pick("127.0.0.1:80", "example.com", "[::1]"), Path: pick("", "/", "/mcp", "/a b", "/ä"), RawQuery: pick("", "a=1&b=%20"), ForceQuery: random.IntN(9) == 0},
			Header: http.Header{}, Close: random.IntN(20) == 0}
		for range random.IntN(7) {
			req.Header[pick("Accept", "Content-Type", "User-Agent", "X-A", "x-lower", "Host", "Content-Length", "Connection", "Mcp-Name", "Zz")] = [][]string{
				{"a"}, {" a\t"}, {""}, {"a, b"}, {"a", "b"}, {"ä"}, {}, {"a  b"}, {"close"},
			}[random.IntN(9)]
		}
		if random.IntN(3) > 0 {
			req.Header.Set("User-Agent", pick("mcpc", "", " x "))
		}
		if isPlain(req) && assertHead(t, req, pick("", "{}", strings.Repeat("a", 5000))) {
			written++
		}
	}
	if written < 1000 {
		t.Errorf("only %d of 5000 requests are usual", written)
	}
}

// assertParsed holds a response that is parsed quickly against what http.ReadResponse says of the
// same bytes, and reports whether one was.
func assertParsed(t *testing.T, raw []byte) bool {
	t.Helper()
	req := &http.Request{Method: http.MethodPost}
	in := bufio.NewReader(bytes.NewReader(raw))
	_, _ = in.Peek(1)
	got := readQuick(in, req)
	if got == nil {
		return false
	}
	other := bufio.NewReader(bytes.NewReader(raw))
	want, err := http.ReadResponse(other, req)
	if err != nil {
		t.Fatalf("%q is taken, and by net/http it is not: %v", raw, err)
	}
	gotBody, gotErr := io.ReadAll(got.Body)
	wantBody, wantErr := io.ReadAll(want.Body)
	if !bytes.Equal(gotBody, wantBody) || gotErr != wantErr || in.Buffered() != other.Buffered() {
		t.Fatalf("the body of %q is %q, %v, and by net/http %q, %v", raw, gotBody, gotErr, wantBody, wantErr)
	}
	got.Body, want.Body = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q is parsed as\n%+v\nand by net/http as\n%+v", raw, got, want)
	}
	return true
}

func TestUsualResponsesAreParsedAsNetHTTPDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	parsed := 0
	for range 20000 {
		pick := func(often string, else_ ...string) string {
			if random.IntN(8) > 0 {
				return often
			}
			return else_[random.IntN(len(else_))]
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s%s%s", pick("HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP"), pick("200", "201", "204", "404", "500", "304", "100", "99", "+20", "2000"),
			pick(" OK", "", " ", " Not  Here ", "OK", " \x80"), pick("\r\n", "\n", "\r\n\r\n"))
		for range random.IntN(6) {
			fmt.Fprintf(&b, "%s:%s%s%s", pick([]string{"Content-Type", "Date", "Mcp-Session-Id", "X-1a"}[random.IntN(4)], "content-type", "Set-Cookie", "Connection", "Transfer-Encoding", "Pragma", "A b", "", "É", "A_b", "Trailer"),
				pick(" ", "", "\t", "  "), pick("a/b; c", "", "close", "chunked", "no-cache", "ä", "a\x01", "a \t"), pick("\r\n", "\n", "\r\n more\r\n"))
		}
		fmt.Fprintf(&b, "%s: %s\r\n%s%s", pick("Content-Length", "Content-length", "X-Length"), pick("4", "0", "+4", "04", "4, 4", "9", "", "-1", "1234567890123456", "4\r\nContent-Length: 4"), pick("\r\n", "", "\n"), pick("body", "", "bo", "bodybody"))
		if assertParsed(t, []byte(b.String())) {
			parsed++
		}
	}
	if parsed < 2000 {
		t.Errorf("only %d of 20000 responses are usual", parsed)
	}
}

func FuzzParseQuick(f *testing.F) {
	for _, raw := range []string{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nbody", "HTTP/1.1 200 OK\r\nA:\r\nContent-Length:0\r\n\r\n",
		"HTTP/1.1 404 \r\nContent-Length: 4\r\n\r\nbody", "HTTP/1.1 200 OK\r\nX: a\nb\r\nContent-Length: 1\r\n\r\n1"} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { assertParsed(t, raw) })
}
