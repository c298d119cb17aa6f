package mock

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"
)

// certificate returns a self-signed certificate with the named fault. No client trusts it.
func certificate(fault string) (tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "mock"},
		NotBefore:    time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC),
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		IsCA:         true, BasicConstraintsValid: true,
	}
	switch fault {
	case "self-signed": // a client does not trust it as it is
	case "expired":
		template.NotAfter = time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
	case "wrong-name":
		template.DNSNames = []string{"elsewhere.example"}
		template.IPAddresses = nil
	default:
		return tls.Certificate{}, fmt.Errorf("unknown certificate fault: %q", fault)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making a key: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
