package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// front serves at l in front of the server at target, until the script ends.
func front(ts *testscript.TestScript, l net.Listener, target string) {
	to, err := url.Parse(target)
	ts.Check(err)
	to.Path = ""
	serveFront(ts, l, &httputil.ReverseProxy{FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }})
}

func serveFront(ts *testscript.TestScript, l net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = s.Serve(l) }()
	w := worldOf(ts)
	w.fronts = append(w.fronts, s)
}

// secure puts TLS in front of a server. mtls judges the client while shaking hands,
// mtls13 with TLS 1.3, where the request has left by then.
func secure(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: secure NAME URL [mtls|mtls13]")
	}
	authority := newPaper(ts, nil)
	own, client := newPaper(ts, authority), newPaper(ts, authority)
	authority.write(ts, "ca.pem", "")
	client.write(ts, "client.pem", "client.key")
	client.write(ts, "both.pem", "both.pem")
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{own.der}, PrivateKey: own.key}}}
	if len(args) > 2 {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		config.ClientCAs.AddCert(authority.cert)
		if args[2] == "mtls" {
			config.MaxVersion = tls.VersionTLS12
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	front(ts, tls.NewListener(l, config), args[1])
	ts.Setenv(args[0], "https://"+l.Addr().String()+"/mcp")
	ts.Setenv(args[0]+"_port", fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
}

// A paper is a certificate and its key.
type paper struct {
	cert *x509.Certificate
	der  []byte
	key  *ecdsa.PrivateKey
}

// newPaper makes one that is signed by another, or by itself as an authority.
func newPaper(ts *testscript.TestScript, by *paper) *paper {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	p := &paper{key: key, cert: &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"server.example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: by == nil, BasicConstraintsValid: true,
	}}
	if by == nil {
		by = p
	}
	p.der, err = x509.CreateCertificate(rand.Reader, p.cert, by.cert, &key.PublicKey, by.key)
	ts.Check(err)
	p.cert, err = x509.ParseCertificate(p.der)
	ts.Check(err)
	return p
}

// write puts the certificate and the key into files, or both into one.
func (p *paper) write(ts *testscript.TestScript, cert, key string) {
	raw, err := x509.MarshalPKCS8PrivateKey(p.key)
	ts.Check(err)
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
	switch key {
	case "":
	case cert:
		certPEM = slices.Concat(keyPEM, certPEM)
	default:
		ts.Check(os.WriteFile(ts.MkAbs(key), keyPEM, 0o600))
	}
	ts.Check(os.WriteFile(ts.MkAbs(cert), certPEM, 0o600))
}

// socket puts a unix socket in front of a server.
func socket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: socket PATH URL")
	}
	l, err := net.Listen("unix", ts.MkAbs(args[0]))
	ts.Check(err)
	front(ts, l, args[1])
}

// tunnel is a proxy, for tunnels and for plain requests.
func tunnel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: tunnel NAME [USER:PASSWORD]")
	}
	file, err := os.Create(ts.MkAbs(args[0] + ".log"))
	ts.Check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], l.Addr().String())
	plain := &httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0)}
	serveFront(ts, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(file, r.Method, r.Host)
		wanted := ""
		if len(args) > 1 {
			wanted = "Basic " + base64.StdEncoding.EncodeToString([]byte(args[1]))
		}
		switch {
		case r.Header.Get("Proxy-Authorization") != wanted:
			w.WriteHeader(http.StatusProxyAuthRequired)
		case r.Method == http.MethodConnect:
			join(w, r.Host)
		default:
			plain.ServeHTTP(w, r)
		}
	}))
}

// join leads a client's connection on to an address.
func join(w http.ResponseWriter, address string) {
	there, err := net.Dial("tcp", address)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	here, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		there.Close()
		return
	}
	fmt.Fprint(here, "HTTP/1.1 200 Connection Established\r\n\r\n")
	go func() { _, _ = io.Copy(there, buffered); there.Close() }()
	go func() { _, _ = io.Copy(here, there); here.Close() }()
}

// socks is a SOCKS5 proxy at $NAME that leads every connection to the server at a
// URL, whatever host it was asked for (RFC 1928); the host is in the file NAME.log.
func socks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: socks NAME URL")
	}
	to, err := url.Parse(args[1])
	ts.Check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], l.Addr().String())
	w, name := worldOf(ts), ts.MkAbs(args[0]+".log")
	w.fronts = append(w.fronts, l)
	go func() {
		for {
			here, err := l.Accept()
			if err != nil {
				return
			}
			go socksOne(here, to.Host, name)
		}
	}()
}

func socksOne(here net.Conn, target, name string) {
	head := make([]byte, 8)
	_, _ = io.ReadFull(here, head[:2])
	_, _ = io.ReadFull(here, head[2:2+head[1]])
	_, _ = here.Write([]byte{5, 0})
	_, _ = io.ReadFull(here, head[:5]) // version, command, 0, kind of address, its length
	host := make([]byte, int(head[4])+2)
	_, _ = io.ReadFull(here, host)
	_ = os.WriteFile(name, host[:head[4]], 0o600)
	there, err := net.Dial("tcp", target)
	if err != nil {
		here.Close()
		return
	}
	_, _ = here.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	go func() { _, _ = io.Copy(there, here); there.Close() }()
	go func() { _, _ = io.Copy(here, there); here.Close() }()
}
