package proxy

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"mcpc/internal/wire"
)

type flusher interface {
	io.WriteCloser
	Flush() error
}

// plainWriter has no coding.
type plainWriter struct{ io.Writer }

func (plainWriter) Close() error { return nil }
func (plainWriter) Flush() error { return nil }

// twice compresses with gzip and then with brotli.
type twice struct{ inner, outer flusher }

func (z twice) Write(b []byte) (int, error) { return z.inner.Write(b) }
func (z twice) Flush() error {
	_ = z.inner.Flush()
	return z.outer.Flush()
}

func (z twice) Close() error {
	_ = z.inner.Close()
	return z.outer.Close()
}

// A coding is a content coding as servers send it.
type coding struct {
	name, field string
	to          func(io.Writer) flusher
}

var codings = []coding{
	{"identity", "identity", func(w io.Writer) flusher { return plainWriter{w} }},
	{"gzip", "gzip", func(w io.Writer) flusher { return gzip.NewWriter(w) }},
	{"x-gzip", "X-Gzip", func(w io.Writer) flusher { return gzip.NewWriter(w) }},
	{"deflate", "deflate", func(w io.Writer) flusher { return zlib.NewWriter(w) }},
	{"raw deflate", "deflate", func(w io.Writer) flusher {
		z, _ := flate.NewWriter(w, flate.BestSpeed)
		return z
	}},
	{"br", "br", func(w io.Writer) flusher { return brotli.NewWriter(w) }},
	{"zstd", "zstd", func(w io.Writer) flusher {
		z, _ := zstd.NewWriter(w)
		return z
	}},
	{"gzip and br", "gzip, br", func(w io.Writer) flusher {
		outer := brotli.NewWriter(w)
		return twice{gzip.NewWriter(outer), outer}
	}},
}

func (c coding) encode(text string) string {
	var b bytes.Buffer
	z := c.to(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

// codingServer answers a request in a coding: /events with three events, each flushed; the second
// is written once the first was seen; anything else with the request's params.
func codingServer(c coding, seen <-chan bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Encoding", c.field)
		z := c.to(w)
		if r.URL.Path != "/events" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(z, `{"jsonrpc":"2.0","id":1,"result":{"bytes":%d,"ok":true}}`, len(body))
			_ = z.Close()
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i, event := range []string{first, second, answer} {
			if i == 1 {
				<-seen
			}
			_, _ = io.WriteString(z, event)
			_ = z.Flush()
			_ = http.NewResponseController(w).Flush()
		}
		_ = z.Close()
	}
}

// messagesOf lists the messages that were recorded.
func messagesOf(frames []wire.Frame) (all []string) {
	for _, f := range frames {
		if f.Kind != wire.Head {
			all = append(all, fmt.Sprintf("%d %s %s %q %d %s", f.Stream, f.Dir, f.Kind, f.Raw, f.Hidden, f.DecodeError))
		}
	}
	return all
}

// TestCodedBodiesAreRecordedAsPlainOnes compares the recording of each coding with the recording
// without a coding. The client gets the bytes of the server.
func TestCodedBodiesAreRecordedAsPlainOnes(t *testing.T) {
	var want []string
	for _, c := range codings {
		seen := make(chan bool, 9)
		server := httptest.NewServer(codingServer(c, seen))
		var b *behind
		b = proxied(t, WatcherOptions{Tap: func(f wire.Frame) {
			if b.tap(f); f.Kind == wire.Event && strings.Contains(string(f.Raw), `"n":1`) {
				seen <- true
			}
		}}, server.URL)
		result := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"bytes":%d,"ok":true}}`, len(toolCall))
		if got, is := whole(t, "POST", b.url+"/mcp", toolCall), fmt.Sprintf("%q", c.encode(result)); !strings.Contains(got, is) {
			t.Errorf("%s: the client got %s, want the bytes %s", c.name, got, is)
		}
		if got := whole(t, "POST", b.url+"/events", toolCall); strings.Contains(got, "EOF") {
			t.Errorf("%s: the client got %s", c.name, got)
		}
		got := messagesOf(b.seen())
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-plain +coded):\n%s", c.name, diff)
		}
		server.Close()
	}
	if len(want) != 8 { // two requests, one response, three events, two ends
		t.Errorf("the plain recording has\n%s", strings.Join(want, "\n"))
	}
}

func TestCodedRequestsAreRecordedAsPlainOnes(t *testing.T) {
	server := httptest.NewServer(codingServer(codings[0], nil))
	defer server.Close()
	var want []string
	for _, c := range codings {
		b := proxied(t, WatcherOptions{}, server.URL)
		whole(t, "POST", b.url+"/mcp", c.encode(toolCall), "Content-Encoding", c.field)
		got := messagesOf(b.seen())[:1]
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(got[0], "tools/call") {
			t.Errorf("%s (-plain +coded):\n%s", c.name, diff)
		}
	}
}

// TestUnreadableBodiesAreReported has bodies that are not what they declare, and codings that are not known.
func TestUnreadableBodiesAreReported(t *testing.T) {
	for _, c := range []struct{ kind, field, body, want string }{
		{"application/json", "lzma", "abc", "the content coding lzma is not supported"},
		{"text/event-stream", "lzma", "abc", "the content coding lzma is not supported"},
		{"application/json", "br", `{"jsonrpc":"2.0","id":1,"result":{}}`, "the body is declared as br, but cannot be decoded as br"},
		{"text/event-stream", "gzip", answer, "the body is declared as gzip, but is not gzip"},
		{"application/json", "gzip", codings[1].encode(`{"jsonrpc":"2.0","id":1,"result":{}}`)[:20], "the compressed body is truncated (gzip)"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.Header().Set("Content-Encoding", c.field)
			_, _ = io.WriteString(w, c.body)
		}))
		var reasons []string
		b := proxied(t, WatcherOptions{OnUnreadable: func(reason error) { reasons = append(reasons, reason.Error()) }}, server.URL)
		if got := whole(t, "POST", b.url, toolCall); !strings.Contains(got, fmt.Sprintf("%q", c.body)) {
			t.Errorf("%+v: the client got %s", c, got)
		}
		var unread []string
		for _, f := range b.seen() {
			if f.DecodeError != "" {
				unread = append(unread, f.DecodeError)
			}
		}
		if want := []string{c.want}; !cmp.Equal(unread, want) || !cmp.Equal(reasons, want) {
			t.Errorf("%+v: recorded %q, reported %q", c, unread, reasons)
		}
		server.Close()
	}
}

// TestCodedMessagesAreJudged edits messages by a rule and by hand.
func TestCodedMessagesAreJudged(t *testing.T) {
	for _, c := range codings {
		seen := make(chan bool, 9)
		seen <- true
		server := httptest.NewServer(codingServer(c, seen))
		for _, path := range []string{"/mcp", "/events"} {
			b := proxied(t, WatcherOptions{}, server.URL)
			b.proxy.Desk = faultSet(t, LinkHTTP, "when method:tools/call do replace .result.ok 7")
			if got := whole(t, "POST", b.url+path, c.encode(toolCall), "Content-Encoding", c.field, "Accept-Encoding", "br"); !strings.Contains(got, `\"ok\":7`) {
				t.Errorf("%s, by a rule, %s: got %s", c.name, path, got)
			}
			b.seen()
			b = proxied(t, WatcherOptions{}, server.URL)
			b.proxy.Desk = deskOf(t, "", decider{`"result"`: {How: Edited, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"by":"hand"}}`)}})
			seen <- true
			if got := whole(t, "POST", b.url+path, c.encode(toolCall), "Content-Encoding", c.field, "Accept-Encoding", "br"); !strings.Contains(got, `{\"by\":\"hand\"}`) {
				t.Errorf("%s, by hand, %s: got %s", c.name, path, got)
			}
			b.seen()
			seen <- true
		}
		server.Close()
	}
}
