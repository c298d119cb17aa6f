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

// ClientCheck selects whether a TLS front requires a client certificate.
type ClientCheck int

const (
	// NoClientCheck requires no certificate.
	NoClientCheck ClientCheck = iota
	// ClientCheckTLS12 requires a certificate during the handshake.
	ClientCheckTLS12
	// ClientCheckTLS13 requires a certificate with TLS 1.3. A client without a certificate has sent
	// its request when it is rejected.
	ClientCheckTLS13
)

// A TLSFront is TLS in front of a server. Authority has signed the certificate of the front and the
// client certificate Client.
type TLSFront struct {
	*Front
	Authority, Client *Certificate
}

// NewTLS starts TLS in front of the server at the URL.
func NewTLS(target string, check ClientCheck) (*TLSFront, error) {
	handler, err := forwardTo(target)
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
	secured := tls.NewListener(l, newTLSConfig(own, authority, check))
	return &TLSFront{Front: newFront(secured, handler), Authority: authority, Client: client}, nil
}

func newTLSConfig(own, authority *Certificate, check ClientCheck) *tls.Config {
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

// newCertificate returns a certificate that authority signed, or a new authority if it is nil.
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

// Write writes the certificate to a PEM file. The key is written to keyName unless it is "". If
// both names are the same, the file has the key and then the certificate.
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
