package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"mcpc/internal/live/view"
	"mcpc/internal/pause"
)

// Options say what a Server shows and how it waits. Zero times are the usual ones.
type Options struct {
	Reader view.Reader
	// Actor does what the page asks for; nil lets it read only.
	Actor view.Actor
	// Listener is bound to an address of this machine only.
	Listener net.Listener
	Now      func() time.Time
	Rand     io.Reader // nil is that of crypto/rand
	// Idle is how long a Server stays without a page: 30 minutes.
	Idle time.Duration
	// Stuck is how long a write may wait for a page that does not read: 10 seconds.
	Stuck time.Duration
	// Beat is the time between signs of life on a quiet stream of events: 15 seconds.
	Beat time.Duration
	// Assets are the files of the page; nil are those of the program.
	Assets fs.FS
}

// ErrIdle is the end of a Server that had no page for a long time.
var ErrIdle = errors.New("no page was open")

const (
	mostConnections = 128
	mostReads       = 32 // at a time
	mostCalls       = 32
	mostBodies      = 2 // requests that hold whole bodies or images
	mostHeaders     = 64 << 10
	closeTime       = time.Second // for requests under way, whose context has ended
)

// A Server serves the page.
type Server struct {
	Options
	hosts  []string // the Host fields that are its own
	cookie http.Cookie
	door   *door

	reads, calls, bodies chan struct{}

	mu   sync.Mutex
	last time.Time // when there was a page
}

// New makes a Server. It refuses a listener that other machines can reach.
func New(o Options) (*Server, error) {
	addr, ok := o.Listener.Addr().(*net.TCPAddr)
	if !ok || !addr.IP.IsLoopback() {
		return nil, fmt.Errorf("the page is for this machine only, and %s is not a loopback address", o.Listener.Addr())
	}
	o.Idle, o.Stuck, o.Beat = or(o.Idle, 30*time.Minute), or(o.Stuck, 10*time.Second), or(o.Beat, 15*time.Second)
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Assets == nil {
		o.Assets = assets()
	}
	s := &Server{
		Options: o,
		reads:   make(chan struct{}, mostReads),
		calls:   make(chan struct{}, mostCalls),
		bodies:  make(chan struct{}, mostBodies),
		last:    o.Now(),
	}
	for _, host := range []string{"127.0.0.1", "localhost", "::1"} {
		s.hosts = append(s.hosts, net.JoinHostPort(host, fmt.Sprint(addr.Port)))
	}
	s.door = &door{now: o.Now, rand: o.Rand, pages: map[digest]*page{}}
	s.cookie = http.Cookie{
		Name:     fmt.Sprint("mcpc-", addr.Port),
		Path:     "/",
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
		Value:    s.door.secret(),
	}
	return s, nil
}

func or(d, usual time.Duration) time.Duration {
	if d == 0 {
		return usual
	}
	return d
}

// URL makes a URL that lets one page in, within a minute. The one before it ends.
func (s *Server) URL() string {
	return "http://" + s.Listener.Addr().String() + "/#t=" + s.door.token()
}

// Serve answers requests until ctx ends, or no page was open for a long time, which is ErrIdle;
// then it closes the listener and what is open.
func (s *Server) Serve(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    mostHeaders,
		ErrorLog:          log.New(io.Discard, "", 0),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.watch(ctx, stop)
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		_ = server.Shutdown(limit)
		_ = server.Close()
	}()
	err := server.Serve(netutil.LimitListener(s.Listener, mostConnections))
	stop(nil)
	<-ended
	if errors.Is(context.Cause(ctx), ErrIdle) {
		return ErrIdle
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// watch waits until ctx ends, and ends it when no page was open for the idle time.
func (s *Server) watch(ctx context.Context, stop context.CancelCauseFunc) {
	for ctx.Err() == nil {
		quiet := s.quiet()
		if quiet >= s.Idle {
			stop(ErrIdle)
			return
		}
		_ = pause.For(ctx, s.Idle-quiet)
	}
}

// quiet is how long no page was open.
func (s *Server) quiet() time.Duration {
	if s.door.streams() > 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Now().Sub(s.last)
}

// busy notes that there is a page.
func (s *Server) busy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = s.Now()
}
