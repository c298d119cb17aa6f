package servers

import (
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

// A Front accepts connections in front of a server: as a unix socket, as a proxy or with TLS. The
// caller must Close it.
type Front struct {
	listener net.Listener
	closer   io.Closer
}

// Address returns the host and port of a TCP front, or the path of a unix socket.
func (f *Front) Address() string { return f.listener.Addr().String() }

// Close ends the front.
func (f *Front) Close() error { return f.closer.Close() }

// newFront serves an HTTP handler at the listener.
func newFront(l net.Listener, handler http.Handler) *Front {
	server := newHTTPServer(handler)
	go func() { _ = server.Serve(l) }()
	return &Front{listener: l, closer: server}
}

// forwardTo returns a handler that sends each request to the same path of the server at the URL.
func forwardTo(target string) (http.Handler, error) {
	server, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	server.Path = ""
	return &httputil.ReverseProxy{
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(server) },
	}, nil
}

func listenTCP() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// NewSocket listens on a unix socket in front of the server at the URL.
func NewSocket(path, target string) (*Front, error) {
	handler, err := forwardTo(target)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return newFront(l, handler), nil
}

// NewTunnel starts an HTTP proxy, for CONNECT and for plain requests. It writes the method and host
// of each request to the file logName. The proxy requires the credentials USER:PASSWORD unless they
// are "".
func NewTunnel(logName, credentials string) (*Front, error) {
	l, err := listenTCP()
	if err != nil {
		return nil, err
	}
	required := ""
	if credentials != "" {
		required = "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
	}
	plain := &httputil.ReverseProxy{
		Rewrite: func(*httputil.ProxyRequest) {}, FlushInterval: -1,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	file, err := os.Create(logName)
	if err != nil {
		l.Close()
		return nil, err
	}
	file.Close()
	requests := NewLog(logName)
	return newFront(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Printf("%s %s", r.Method, r.Host)
		if r.Header.Get("Proxy-Authorization") != required {
			w.WriteHeader(http.StatusProxyAuthRequired)
		} else if r.Method == http.MethodConnect {
			tunnelTo(w, r.Host)
		} else {
			plain.ServeHTTP(w, r)
		}
	})), nil
}

// tunnelTo answers CONNECT: it connects the client with an address.
func tunnelTo(w http.ResponseWriter, address string) {
	server, err := net.Dial("tcp", address)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	client, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		server.Close()
		return
	}
	fmt.Fprint(client, "HTTP/1.1 200 Connection Established\r\n\r\n")
	go copyAndClose(server, buffered)
	go copyAndClose(client, server)
}

// copyAndClose copies from from until its end, and closes to.
func copyAndClose(dst io.WriteCloser, src io.Reader) {
	_, _ = io.Copy(dst, src)
	dst.Close()
}

// NewSOCKS starts a SOCKS5 proxy (RFC 1928) that connects every client with the server at the URL,
// whatever host the client requests. It writes that host to the file logName.
func NewSOCKS(logName, target string) (*Front, error) {
	server, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	l, err := listenTCP()
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go connectSOCKS(client, server.Host, logName)
		}
	}()
	return &Front{listener: l, closer: l}, nil
}

// connectSOCKS reads a greeting and a request with a host name, and answers both with success.
func connectSOCKS(client net.Conn, target, logName string) {
	head := make([]byte, 8)
	_, _ = io.ReadFull(client, head[:2])
	_, _ = io.ReadFull(client, head[2:2+head[1]])
	_, _ = client.Write([]byte{5, 0})
	_, _ = io.ReadFull(client, head[:5]) // version, command, 0, kind of address, its length
	host := make([]byte, int(head[4])+2)
	_, _ = io.ReadFull(client, host)
	_ = os.WriteFile(logName, host[:head[4]], 0o600)
	server, err := net.Dial("tcp", target)
	if err != nil {
		client.Close()
		return
	}
	_, _ = client.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	go copyAndClose(server, client)
	go copyAndClose(client, server)
}
