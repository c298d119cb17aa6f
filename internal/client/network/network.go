package network

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"mcpc/internal/jsonraw"
)

// ProxyFunc finds the proxy for a request, or nil where there is none.
type ProxyFunc func(*http.Request) (*url.URL, error)

// Certificates are the certificates of both sides, in PEM; what is empty is the machine's.
type Certificates struct {
	// CACert are the authorities that are believed, in place of the system's.
	CACert []byte
	// Cert is what the server is shown of the user, and Key the key for it. Key may
	// be empty where Cert contains it.
	Cert, Key []byte
	// Insecure believes every certificate.
	Insecure bool
}

// What is wrong with Certificates. The texts quote nothing of the files.
var (
	ErrNoAuthority  = errors.New("it contains no PEM certificate")
	ErrKeyEncrypted = errors.New("the key is encrypted; mcpc does not support passphrases")
)

// TLS is how a connection is secured with these certificates. The error is ErrNoAuthority,
// ErrKeyEncrypted, or says why Cert and Key cannot be used.
func (p Certificates) TLS() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: p.Insecure}
	if len(p.CACert) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(p.CACert) {
			return nil, ErrNoAuthority
		}
	}
	if len(p.Cert) == 0 {
		return config, nil
	}
	key := p.Key
	if len(key) == 0 {
		key = p.Cert
	}
	if isEncrypted(key) {
		return nil, ErrKeyEncrypted
	}
	pair, err := tls.X509KeyPair(p.Cert, key)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "tls: "))
	}
	// The user chose it: it is shown whichever authorities the server says it knows.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	return config, nil
}

// isEncrypted knows both ways: that of PKCS #8, and that of OpenSSL before it.
func isEncrypted(raw []byte) bool {
	for {
		var block *pem.Block
		block, raw = pem.Decode(raw)
		if block == nil {
			return false
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.HasPrefix(block.Headers["Proc-Type"], "4,") {
			return true
		}
	}
}

// WithCertificateHook is config that tells of a server that asks for a certificate, and whether
// there was one.
func WithCertificateHook(config *tls.Config, asked func(shown bool)) *tls.Config {
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config = config.Clone()
	own := config.GetClientCertificate
	config.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		asked(own != nil)
		if own == nil {
			return &tls.Certificate{}, nil
		}
		return own(info)
	}
	return config
}

// NoProxy in the place of a proxy's URL is none at all.
const NoProxy = "none"

// ProxyFor finds proxies. One that is given takes every request; else the usual
// variables do, of which NO_PROXY and addresses of this machine are left out.
func ProxyFor(given string, getenv func(string) string) (ProxyFunc, error) {
	switch given {
	case NoProxy:
		return func(*http.Request) (*url.URL, error) { return nil, nil }, nil
	case "":
		return proxyFromEnvironment(getenv), nil
	}
	if !strings.Contains(given, "://") {
		given = "http://" + given
	}
	u, err := url.Parse(given)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("not a proxy URL: use http://HOST:PORT, https://… or socks5://…")
	}
	if u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" && u.Scheme != "socks5h" {
		return nil, fmt.Errorf("a proxy URL is http, https or socks5, not %q", u.Scheme)
	}
	return http.ProxyURL(u), nil
}

func proxyFromEnvironment(getenv func(string) string) ProxyFunc {
	getenvAnyCase := func(name string) string { return cmp.Or(getenv(name), getenv(strings.ToLower(name))) }
	all := getenvAnyCase("ALL_PROXY")
	config := httpproxy.Config{
		HTTPProxy:  cmp.Or(getenvAnyCase("HTTP_PROXY"), all),
		HTTPSProxy: cmp.Or(getenvAnyCase("HTTPS_PROXY"), all),
		NoProxy:    getenvAnyCase("NO_PROXY"),
	}
	find := config.ProxyFunc()
	return func(req *http.Request) (*url.URL, error) { return find(req.URL) }
}

// Pins lead a "host:port" to places that the user names: "address:port", tried in
// their order, or the path of a unix socket. The host "*" is every host.
type Pins map[string][]string

// Places are where an address leads; none where it is not pinned.
func (p Pins) Places(address string) []string {
	if places, ok := p[strings.ToLower(address)]; ok {
		return places
	}
	_, port, _ := net.SplitHostPort(address)
	return p[net.JoinHostPort("*", port)]
}

// Pin reads HOST:PORT:ADDRESS[,ADDRESS], as curl's --resolve has it.
func (p Pins) Pin(text string) error {
	bad := fmt.Errorf("%q is not HOST:PORT:ADDRESS", jsonraw.Excerpt([]byte(text), 100))
	host, rest, _ := strings.Cut(text, ":")
	port, addresses, ok := strings.Cut(rest, ":")
	if _, err := net.LookupPort("tcp", port); err != nil || !ok || host == "" || port == "" {
		return bad
	}
	var places []string
	for _, word := range strings.Split(addresses, ",") {
		ip := net.ParseIP(strings.Trim(strings.TrimSpace(word), "[]"))
		if ip == nil {
			return bad
		}
		places = append(places, net.JoinHostPort(ip.String(), port))
	}
	p[net.JoinHostPort(strings.ToLower(host), port)] = places
	return nil
}

// Over opens connections to pinned places, and all others as they are.
func (p Pins) WrapDial(dial DialFunc) DialFunc {
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		places := p.Places(address)
		if places == nil {
			return dial(ctx, network, address)
		}
		for _, place := range places {
			if isSocketPath(place) {
				network = "unix"
			}
			conn, err = dial(ctx, network, place)
			if err == nil {
				return conn, nil
			}
		}
		return nil, err
	}
}

// Directly is find but for what a unix socket is pinned for: no proxy has that.
func (p Pins) WrapProxy(find ProxyFunc) ProxyFunc {
	return func(req *http.Request) (*url.URL, error) {
		if places := p.Places(HostPort(req.URL)); len(places) > 0 && isSocketPath(places[0]) {
			return nil, nil
		}
		return find(req)
	}
}

// isSocket tells a path from an address with a port.
func isSocketPath(place string) bool {
	_, _, err := net.SplitHostPort(place)
	return err != nil || strings.ContainsRune(place, '/')
}

// HostPort is where a URL leads, with the port of its scheme where it names none.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// A DialFunc opens a connection, as net.Dialer.DialContext does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)
