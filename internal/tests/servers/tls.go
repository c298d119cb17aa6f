package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"slices"
	"strconv"
	"time"
)

// ClientCheck says whether a TLS front requires a certificate of its clients.
type ClientCheck int

const (
	// NoClientCheck requires none.
	NoClientCheck ClientCheck = iota
	// ClientCheckTLS12 requires one during the handshake.
	ClientCheckTLS12
	// ClientCheckTLS13 requires one with TLS 1.3: a client without one has sent its request when it
	// is refused.
	ClientCheckTLS13
)

// A TLSFront is TLS in front of a server. Authority has signed the certificate of the front and
// Client, which the front accepts of clients.
type TLSFront struct {
	*Front
	Authority, Client *Certificate
}

// NewTLS starts TLS in front of the server at the URL.
func NewTLS(target string, check ClientCheck) (*TLSFront, error) {
	handler, err := passOn(target)
	if err != nil {
		return nil, err
	}
	authority, err := newCertificate(nil)
	if err != nil {
		return nil, err
	}
	own, err := newCertificate(authority)
	if err != nil {
		return nil, err
	}
	client, err := newCertificate(authority)
	if err != nil {
		return nil, err
	}
	l, err := listenTCP()
	if err != nil {
		return nil, err
	}
	secured := tls.NewListener(l, tlsConfig(own, authority, check))
	return &TLSFront{Front: newFront(secured, handler), Authority: authority, Client: client}, nil
}

func tlsConfig(own, authority *Certificate, check ClientCheck) *tls.Config {
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{own.der}, PrivateKey: own.key}}}
	if check == NoClientCheck {
		return config
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	config.ClientCAs = x509.NewCertPool()
	config.ClientCAs.AddCert(authority.parsed)
	if check == ClientCheckTLS12 {
		config.MaxVersion = tls.VersionTLS12
	}
	return config
}

// URL returns the URL of a path.
func (f *TLSFront) URL(path string) string { return "https://" + f.Address() + path }

// Port returns the port.
func (f *TLSFront) Port() string { return strconv.Itoa(f.listener.Addr().(*net.TCPAddr).Port) }

// A Certificate is a certificate for server.example and 127.0.0.1 with its key. It is valid for an
// hour.
type Certificate struct {
	parsed *x509.Certificate
	der    []byte
	key    *ecdsa.PrivateKey
}

// newCertificate returns a certificate that an authority has signed, or an authority if it is nil.
func newCertificate(authority *Certificate) (*Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	c := &Certificate{key: key, parsed: &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		DNSNames: []string{"server.example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: authority == nil, BasicConstraintsValid: true,
	}}
	if authority == nil {
		authority = c
	}
	c.der, err = x509.CreateCertificate(rand.Reader, c.parsed, authority.parsed, &key.PublicKey, authority.key)
	if err != nil {
		return nil, err
	}
	c.parsed, err = x509.ParseCertificate(c.der)
	return c, err
}

// Write writes the certificate to a file in PEM, and the key if keyName is not "": to a file of its
// own, or before the certificate if both names are the same.
func (c *Certificate) Write(certName, keyName string) error {
	raw, err := x509.MarshalPKCS8PrivateKey(c.key)
	if err != nil {
		return err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.der})
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
	if keyName == certName {
		certificate = slices.Concat(key, certificate)
	} else if keyName != "" {
		if err := os.WriteFile(keyName, key, 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(certName, certificate, 0o600)
}
