package send

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpc/internal/otlp"
	"mcpc/internal/wire"
)

// hangUp ends the connection.
func hangUp(w http.ResponseWriter, raw string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = conn.Write([]byte(raw))
	_ = conn.Close()
}

// A hostile collector, its effect on 10 spans, and the text about it.
var hostile = []struct {
	name     string
	answer   http.HandlerFunc
	want     Counts
	problem  string // after the host
	requests int
	kind     wire.Kind // of the error of Post
}{
	{"bad data", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		_, _ = w.Write([]byte("\x08\x03\x12\x0ano \x1b[1mway"))
	}, Counts{Failed: 10}, "HTTP 400: no ␛[1mway", 1, wire.Transport},
	{"no rights", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, Counts{Failed: 10}, "HTTP 401: Unauthorized", 1, wire.Auth},
	{"an internal error", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(500)
		_, _ = w.Write([]byte(`{"code":13,"message":"disk full"}`))
	}, Counts{Failed: 10}, "HTTP 500: disk full", 1, wire.Transport},
	{"an echo of the secret", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(403)
		_, _ = w.Write([]byte("bad key " + r.Header.Get("X-Key")))
	}, Counts{Failed: 10}, "HTTP 403: bad key ••••(len 22, sha256:", 1, wire.Auth},
	{
		"a page", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hello</html>")) },
		Counts{Failed: 10},
		"HTTP 200: not an OTLP response: <html>hello</html>", 1, wire.BadResponse,
	},
	{
		"a long page", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("\x00<", 300))) },
		Counts{Failed: 10},
		"HTTP 200: not an OTLP response: ␀<", 1, wire.BadResponse,
	},
	{"an endless answer", func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}, Counts{Failed: 10}, "HTTP 200: a response of more than 65536 bytes", 1, wire.BadResponse},
	{"an endless header", func(w http.ResponseWriter, _ *http.Request) {
		hangUp(w, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 200))
	}, Counts{Failed: 10}, "net/http: server response headers exceeded 65536 bytes", 1, wire.BadResponse},
	{
		"another protocol", func(w http.ResponseWriter, _ *http.Request) { hangUp(w, "SSH-2.0-OpenSSH_9.9\r\n") },
		Counts{Failed: 10},
		`malformed HTTP response "SSH-2.0-OpenSSH_9.9"`, 1, wire.BadResponse,
	},
	{
		"some rejected", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("\x0a\x06\x08\x03\x12\x02no")) },
		Counts{Sent: 7, Rejected: 3},
		"3 of 10 rejected: no", 1, wire.Transport,
	},
	{
		"more rejected than sent", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("\x0a\x06\x08\xff\xff\xff\xff\x7f"))
		},
		Counts{Rejected: 10},
		"10 of 10 rejected", 1, wire.Transport,
	},
	{"less than none rejected", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	}, Counts{Sent: 10}, "", 1, ""},
	{"a warning", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("\x0a\x05\x12\x03old")) }, Counts{Sent: 10}, "old", 1, ""},
	{
		"a wait of a day", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(429)
		},
		Counts{Failed: 10},
		"HTTP 429: Too Many Requests", 1, wire.Transport,
	},
	{"a wait of centuries", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "9223372036854775807")
		w.WriteHeader(503)
	}, Counts{Failed: 10}, "HTTP 503: Service Unavailable", 1, wire.Transport},
	{"a wait until a date", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT")
		w.WriteHeader(503)
	}, Counts{Failed: 10}, "HTTP 503: Service Unavailable", 1, wire.Transport},
	{
		"a redirect", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(307)
		},
		Counts{Failed: 10},
		"HTTP 307: redirects are not followed", 1, wire.Transport,
	},
}

func TestHostileCollectors(t *testing.T) {
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			server := newCollector(t, c.answer)
			host := server.Listener.Addr().String() + ": "
			said := func(text string) bool {
				return text == "" && c.problem == "" || c.problem != "" && strings.HasPrefix(text, host+c.problem) && len(text) < len(host)+1100
			}
			// The time that Close has is long: a wait for it never ends here.
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			e := start(t, server.URL, Options{}, "OTEL_EXPORTER_OTLP_HEADERS", "x-key=canary-of-the-headers1", "OTEL_EXPORTER_OTLP_TIMEOUT", "0", "OTEL_BSP_EXPORT_TIMEOUT", "0")
			give(e, 10)
			if report := e.Close(ctx); report.Spans != c.want || !said(report.Problem) {
				t.Errorf("got %+v", report)
			}
			if n := server.number(); n != c.requests {
				t.Errorf("%d requests", n)
			}
			e = start(t, server.URL, Options{}, "OTEL_EXPORTER_OTLP_HEADERS", "x-key=canary-of-the-headers1", "OTEL_EXPORTER_OTLP_TIMEOUT", "0")
			err := e.Post(ctx, make([]otlp.Span, 10))
			failed, _ := errors.AsType[*Error](err)
			switch {
			case c.kind == "" && err == nil:
			case failed == nil || failed.Kind != c.kind || !said(failed.Text):
				t.Errorf("Post: %v", err)
			}
			if report := e.Close(ctx); report.Spans != c.want {
				t.Errorf("Post: %+v", report)
			}
		})
	}
}

// The endpoint of one signal is used as it is: a collector that accepts nothing at its root is
// distinguished from others.
func TestSignalEndpointWithoutPathIsExplained(t *testing.T) {
	server := newCollector(t, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	for path, want := range map[string]string{
		"":           "a collector takes them at /v1/traces and /v1/metrics, and the endpoint of one signal is used as it is",
		"/":          "a collector takes them at /v1/traces",
		"/v1/traces": "404 page not found",
	} {
		e := start(t, endpointFromVariables, Options{}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", server.URL+path)
		if err := e.Post(t.Context(), make([]otlp.Span, 1)); err == nil || !strings.Contains(err.Error(), "HTTP 404: "+want) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// An export with a temporary failure is tried again: the spans arrive in the end.
func TestTransientFailures(t *testing.T) {
	status := func(status int, after string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader(status)
		}
	}
	for name, first := range map[string]http.HandlerFunc{
		"429":                     status(429, ""),
		"429, an unreadable wait": status(429, "soon"),
		"503, a wait of nothing":  status(503, "0"),
		"503, a wait of the past": status(503, "Mon, 02 Jan 2006 15:04:05 GMT"),
		"502":                     status(502, ""),
		"504":                     status(504, ""),
		"no answer":               func(w http.ResponseWriter, _ *http.Request) { hangUp(w, "") },
		"half an answer": func(w http.ResponseWriter, _ *http.Request) {
			hangUp(w, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\x0a")
		},
		"an answer after the time": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			server := newCollector(t, func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) <= 2 {
					first(w, r)
				}
			})
			timeout := "0"
			if name == "an answer after the time" {
				timeout = "100"
			}
			e := start(t, server.URL, Options{}, "OTEL_EXPORTER_OTLP_TIMEOUT", timeout, "OTEL_BSP_EXPORT_TIMEOUT", "0")
			give(e, 10)
			if report := e.Close(t.Context()); report.Spans != (Counts{Sent: 10}) {
				t.Errorf("got %+v", report)
			}
			if server.number() < 3 {
				t.Errorf("%d requests", server.number())
			}
		})
	}
}

// A collector that refuses connections is tried again, unless the time is over before.
func TestNoCollector(t *testing.T) {
	const address = "127.0.0.1:9"
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	e := newExporter(configOf(t, "http://"+address, "OTEL_BSP_EXPORT_TIMEOUT", "0"), Options{Now: time.Now}, 24*time.Hour)
	failed, _ := errors.AsType[*Error](e.Post(ctx, make([]otlp.Span, 1)))
	if failed == nil || failed.Kind != wire.Transport || failed.Status != 0 || !failed.isTransient || failed.Text != address+": connection refused" {
		t.Errorf("got %+v", failed)
	}
	give(e, 3000)
	report := e.Close(ctx)
	if s := report.Spans; s.Failed+s.Dropped != 3001 || s.Failed < 2049 || report.Problem != address+": connection refused" {
		t.Errorf("got %+v", report)
	}
	e = start(t, "http://mcpc.invalid:4318", Options{Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New("no proxy") }})
	if err := e.Post(t.Context(), nil); err == nil || err.Error() != "mcpc.invalid:4318: no proxy" {
		t.Errorf("got %v", err)
	}
}

// A server that accepts connections and reads nothing, or reads slowly, holds up one export only
// for its time. Close ends it at once.
func TestUnreadExportEndsAtItsTimeLimit(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan struct{}, 10)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var all []net.Conn
		for {
			conn, err := l.Accept()
			if err != nil {
				break
			}
			all = append(all, conn)
			_, _ = conn.Read(make([]byte, 1))
			accepted <- struct{}{}
		}
		for _, conn := range all {
			_ = conn.Close()
		}
	}()
	e := start(t, "http://"+l.Addr().String(), Options{}, "OTEL_EXPORTER_OTLP_TIMEOUT", "0", "OTEL_BSP_EXPORT_TIMEOUT", "0", "OTEL_BSP_SCHEDULE_DELAY", "100000000")
	for range 512 {
		e.Span(otlp.Span{Name: strings.Repeat("x", 40_000)}) // more than a socket holds
	}
	receive(t, accepted)
	give(e, 5000)
	report := e.Close(ended)
	if want := (Counts{Failed: 512 + 2048, Dropped: 5000 - 2048}); report.Spans != want || !strings.Contains(report.Problem, "no answer before the export had to end") {
		t.Errorf("got %+v", report)
	}
	_ = l.Close()
	receive(t, done)
}

// A redirect gets neither the spans nor the header fields.
func TestRedirectIsNotFollowed(t *testing.T) {
	other := newCollector(t, nil)
	for _, status := range []int{301, 302, 303, 307, 308} {
		c := newCollector(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(status)
		})
		e := start(t, c.URL, Options{}, "OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer canary")
		give(e, 1)
		if report := e.Close(t.Context()); report.Spans != (Counts{Failed: 1}) || !strings.HasSuffix(report.Problem, "redirects are not followed") {
			t.Errorf("%d: got %+v", status, report)
		}
	}
	if other.number() != 0 {
		t.Errorf("%d requests came", other.number())
	}
}

func TestRequestOverTheLimit(t *testing.T) {
	c := newCollector(t, nil)
	e := start(t, c.URL, Options{}, "OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	e.Span(otlp.Span{Name: strings.Repeat("x", maxRequest)})
	if report := e.Close(t.Context()); report.Spans != (Counts{Failed: 1}) || !strings.Contains(report.Problem, "exceeds the limit of 67108864") || c.number() != 0 {
		t.Errorf("%d requests, %+v", c.number(), report)
	}
}

// An export that is given up within its limit of time does not stop the next one.
func TestExportThatTimesOutDoesNotStopTheNext(t *testing.T) {
	var n atomic.Int64
	c := newCollector(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 1 {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(429)
		}
	})
	e := start(t, c.URL, Options{}, "OTEL_BSP_EXPORT_TIMEOUT", "1000", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
	give(e, 2)
	receive(t, c.arrived)
	give(e, 2)
	receive(t, c.arrived)
	report := e.Close(t.Context())
	if s := report.Spans; s.Sent+s.Failed != 4 || s.Failed < 2 {
		t.Errorf("got %+v", report)
	}
}
