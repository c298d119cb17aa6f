package servers

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"mcpc/internal/mock"
	"mcpc/internal/wire"
)

// A Server is an address on the loopback interface at which tests start and stop servers. It keeps
// its port while no server runs there, because a released port can be assigned to a different
// process. It closes connections at once during that time.
type Server struct {
	listener net.Listener
	log      *Log

	// mu guards the fields of the running server.
	mu         sync.Mutex
	current    *serverListener
	endCurrent func()
}

// New returns an address with a free port and without a running server. Servers at the address log
// to the file logName. The caller must Close it.
func New(logName string) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{listener: l, log: NewLog(logName), endCurrent: func() {}}
	go s.accept()
	return s, nil
}

// ForTest returns a server that is closed when the test ends.
func ForTest(t testing.TB) *Server {
	t.Helper()
	s, err := New(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// URL returns the URL of a path: /mcp for Streamable HTTP, /sse for HTTP+SSE.
func (s *Server) URL(path string) string { return "http://" + s.Address() + path }

// Address returns the host and port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Port returns the port.
func (s *Server) Port() string { return strconv.Itoa(s.listener.Addr().(*net.TCPAddr).Port) }

// Log returns the log of all servers at this address.
func (s *Server) Log() *Log { return s.log }

// accept passes each connection to the running server. It closes the connection if no server runs.
func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		current := s.current
		s.mu.Unlock()
		if current == nil || !current.pass(conn) {
			conn.Close()
		}
	}
}

// start stops the running server and passes new connections to l. end must end the new server and
// wait for it.
func (s *Server) start(l *serverListener, end func()) {
	s.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = l
	s.endCurrent = end
}

// Stop ends the running server and closes its connections.
func (s *Server) Stop() {
	s.mu.Lock()
	end := s.endCurrent
	s.current = nil
	s.endCurrent = func() {}
	s.mu.Unlock()
	end()
}

// Close stops the running server and releases the port.
func (s *Server) Close() error {
	s.Stop()
	return s.listener.Close()
}

// Play plays a script of package mock in place of the running server.
func (s *Server) Play(text string) error {
	script, err := mock.Parse(text)
	if err != nil {
		return err
	}
	l := s.newListener()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- script.HTTP(ctx, l, func(r mock.Request) { s.log.Request(r.Method, r.Header, r.Message) })
	}()
	s.start(l, func() {
		cancel()
		<-done
	})
	return nil
}

// Demo runs the demo server in place of the running server, like `mcpc demo` with the flags.
func (s *Server) Demo(flags ...string) error {
	handler, err := Demo(flags...)
	if err != nil {
		return err
	}
	s.Serve(handler)
	return nil
}

// Serve runs an HTTP handler in place of the running server. Each request is logged before the
// handler receives it. Its host is the address of the server, whatever name the client used.
func (s *Server) Serve(handler http.Handler) {
	l := s.newListener()
	recording := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.isClosed() {
			panic(http.ErrAbortHandler) // accepted while the server was being closed
		}
		body, _ := io.ReadAll(r.Body)
		s.log.Request(r.Method, r.Header, wire.ParseMessage(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Host = s.Address()
		handler.ServeHTTP(w, r)
	})
	server := newHTTPServer(recording)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	s.start(l, func() {
		_ = l.Close() // before the connections, so that no connection is accepted later
		server.Close()
		<-done
	})
}

// newHTTPServer returns a server that does not log the errors of clients.
func newHTTPServer(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
}

// A life is the listener of one running server at the address. It ends when the server is stopped.
type serverListener struct {
	net.Listener
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (s *Server) newListener() *serverListener {
	return &serverListener{Listener: s.listener, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// pass passes a connection to the listener. It returns false if the life has ended.
func (l *serverListener) pass(conn net.Conn) bool {
	select {
	case l.conns <- conn:
		return true
	case <-l.closed:
		return false
	}
}

func (l *serverListener) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

func (l *serverListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the life. The address keeps its port.
func (l *serverListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}
