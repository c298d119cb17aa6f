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

// Options configures a Server. Zero durations mean the defaults.
type Options struct {
	Reader view.Reader
	// Actor carries out the actions of the page. If it is nil, the page only reads.
	Actor view.Actor
	// Ask asks the user for a power of --allow, and returns nil once the Actor has it. It is nil if
	// there is no terminal to ask at.
	Ask func(ctx context.Context, power string) error
	// Listener must be bound to a loopback address.
	Listener net.Listener
	// Sandbox is the listener of the frames of apps, at another port. If it is nil, the page shows no apps.
	Sandbox net.Listener
	Now     func() time.Time
	Rand    io.Reader // nil means crypto/rand
	// MaxHold is how long a tap or a proxy holds a message, at most. The page shows it.
	MaxHold time.Duration
	// Idle is how long a Server runs without an open page; the default is 30 minutes.
	Idle time.Duration
	// Stuck is how long a write waits for a page that does not read; the default is 10 seconds.
	Stuck time.Duration
	// Beat is the time between comments on a quiet stream of events; the default is 15 seconds.
	Beat time.Duration
	// Assets are the files of the page. If it is nil, the embedded files are used.
	Assets fs.FS
}

// ErrIdle is returned by Serve if no page was open for a long time.
var ErrIdle = errors.New("no page was open")

const (
	maxConnections  = 128
	maxReads        = 32 // concurrent reads
	maxCalls        = 32 // concurrent calls
	maxBodies       = 2  // concurrent requests that hold whole bodies or images
	maxHeaders      = 64 << 10
	shutdownTimeout = time.Second // how long Serve waits for running requests at the end
)

// A Server serves the page.
type Server struct {
	Options
	hosts  []string // the accepted Host fields
	cookie http.Cookie
	door   *door
	// sandbox is nil if the page shows no apps.
	sandbox *appSandbox

	reads, calls, bodies chan struct{}

	mu         sync.Mutex
	lastActive time.Time // when a page was last active
}

// New returns a Server. It returns an error unless the listener is on a loopback address.
func New(o Options) (*Server, error) {
	addr, ok := o.Listener.Addr().(*net.TCPAddr)
	if !ok || !addr.IP.IsLoopback() {
		return nil, fmt.Errorf("the page is for this machine only, and %s is not a loopback address", o.Listener.Addr())
	}
	o.Idle = orDefault(o.Idle, 30*time.Minute)
	o.Stuck = orDefault(o.Stuck, 10*time.Second)
	o.Beat = orDefault(o.Beat, 15*time.Second)
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Assets == nil {
		o.Assets = assets()
	}
	s := &Server{
		Options:    o,
		reads:      make(chan struct{}, maxReads),
		calls:      make(chan struct{}, maxCalls),
		bodies:     make(chan struct{}, maxBodies),
		lastActive: o.Now(),
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
	if o.Sandbox != nil {
		_, script := s.asset("/frame.js")
		s.sandbox = newAppSandbox(o.Sandbox, s.door.secret, o.Now, script)
	}
	return s, nil
}

// orDefault returns d, or usual if d is zero.
func orDefault(d, usual time.Duration) time.Duration {
	if d == 0 {
		return usual
	}
	return d
}

// URL returns a URL that admits one page within a minute. The previous URL becomes invalid.
func (s *Server) URL() string {
	return "http://" + s.Listener.Addr().String() + "/#t=" + s.door.token()
}

// Serve handles requests until ctx ends, and then closes the listener and all connections. It
// returns ErrIdle if no page was open for the idle time, and nil if ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeaders,
		ErrorLog:          log.New(io.Discard, "", 0),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	if s.sandbox != nil {
		go s.sandbox.serve(ctx)
	}
	ended := make(chan struct{}) // closed after the shutdown
	go func() {
		defer close(ended)
		s.watch(ctx, stop)
		// ctx has ended, so the shutdown needs a new context.
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		_ = server.Shutdown(limit)
		_ = server.Close()
	}()
	err := server.Serve(netutil.LimitListener(s.Listener, maxConnections))
	stop(nil) // if Serve failed, watch still runs
	<-ended
	if errors.Is(context.Cause(ctx), ErrIdle) {
		return ErrIdle
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// watch waits until ctx ends, and ends it with ErrIdle if no page was open for the idle time.
func (s *Server) watch(ctx context.Context, stop context.CancelCauseFunc) {
	for ctx.Err() == nil {
		quiet := s.idleTime()
		if quiet >= s.Idle {
			stop(ErrIdle)
			return
		}
		_ = pause.For(ctx, s.Idle-quiet)
	}
}

// idleTime returns the time since a page was last active, or 0 if a page reads events.
func (s *Server) idleTime() time.Duration {
	if s.door.streams() > 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Now().Sub(s.lastActive)
}

// recordActivity records that a page is active now.
func (s *Server) recordActivity() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastActive = s.Now()
}
