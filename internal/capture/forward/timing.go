package forward

import (
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// A stopwatch takes the times of a request; net/http calls it from goroutines of
// its own.
type stopwatch struct {
	now func() time.Time

	mu                           sync.Mutex
	times                        wire.Timing
	began, looked, dialed, shook time.Time
}

func (s *stopwatch) trace() *httptrace.ClientTrace {
	start := func(at *time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		*at = s.now()
	}
	stop := func(took *time.Duration, since *time.Time) {
		s.mu.Lock()
		defer s.mu.Unlock()
		*took = s.now().Sub(*since)
	}
	start(&s.began)
	return &httptrace.ClientTrace{
		DNSStart:             func(httptrace.DNSStartInfo) { start(&s.looked) },
		DNSDone:              func(httptrace.DNSDoneInfo) { stop(&s.times.DNS, &s.looked) },
		ConnectStart:         func(_, _ string) { start(&s.dialed) },
		ConnectDone:          func(_, _ string, _ error) { stop(&s.times.Connect, &s.dialed) },
		TLSHandshakeStart:    func() { start(&s.shook) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { stop(&s.times.TLS, &s.shook) },
		GotFirstResponseByte: func() { stop(&s.times.FirstByte, &s.began) },
	}
}

func (s *stopwatch) timing() *wire.Timing {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.times
	return &t
}
