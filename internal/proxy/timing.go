package proxy

import (
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// A stopwatch measures the phases of a request. net/http calls its trace from goroutines of its own.
type stopwatch struct {
	now func() time.Time

	mu                           sync.Mutex
	times                        wire.Timing
	began, looked, dialed, shook time.Time
}

func (s *stopwatch) note(at *time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*at = s.now()
}

func (s *stopwatch) took(d *time.Duration, since *time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*d = s.now().Sub(*since)
}

// trace returns the hooks that measure.
func (s *stopwatch) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart:             func(httptrace.DNSStartInfo) { s.note(&s.looked) },
		DNSDone:              func(httptrace.DNSDoneInfo) { s.took(&s.times.DNS, &s.looked) },
		ConnectStart:         func(_, _ string) { s.note(&s.dialed) },
		ConnectDone:          func(_, _ string, _ error) { s.took(&s.times.Connect, &s.dialed) },
		TLSHandshakeStart:    func() { s.note(&s.shook) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { s.took(&s.times.TLS, &s.shook) },
		GotFirstResponseByte: func() { s.took(&s.times.FirstByte, &s.began) },
	}
}

func (s *stopwatch) timing() *wire.Timing {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.times
	return &t
}
