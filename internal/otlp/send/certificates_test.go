package send

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpc/internal/otlp"
	"mcpc/internal/wire"
)

// keyFiles makes a certificate for loopback that is its own authority, and its key.
func keyFiles(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, raw []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", signed), write("key.pem", "PRIVATE KEY", raw)
}

func TestTLS(t *testing.T) {
	certificate, key := keyFiles(t)
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(pair.Leaf)
	c := &collector{arrived: make(chan struct{}, 10)}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, nil) }))
	c.Config.ErrorLog = log.New(io.Discard, "", 0)
	c.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	c.StartTLS()
	t.Cleanup(c.Close)

	post := func(pairs ...string) *Error {
		failed, _ := start(t, c.URL, Options{}, pairs...).Post(t.Context(), make([]otlp.Span, 1)).(*Error)
		return failed
	}
	if failed := post("OTEL_EXPORTER_OTLP_CERTIFICATE", certificate, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", certificate, "OTEL_EXPORTER_OTLP_CLIENT_KEY", key); failed != nil {
		t.Error(failed)
	}
	if c.number() != 1 {
		t.Errorf("%d requests", c.number())
	}
	// A server that is not trusted is not tried again: Post would not return.
	if failed := post(); failed == nil || failed.Kind != wire.Transport || !strings.Contains(failed.Text, "x509: certificate signed by unknown authority") {
		t.Error(failed)
	}
	plain := newCollector(t, nil)
	failed, _ := start(t, strings.Replace(plain.URL, "http:", "https:", 1), Options{}).Post(t.Context(), nil).(*Error)
	if failed == nil || failed.Kind != wire.Transport || !strings.Contains(failed.Text, "answered without TLS: use http://") {
		t.Error(failed)
	}
	if plain.number() != 0 || c.number() != 1 {
		t.Error("requests came")
	}
}
