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

// A ProxyFunc returns the proxy for a request, or nil if the request needs no proxy.
type ProxyFunc func(*http.Request) (*url.URL, error)

// Certificates are the certificates of both sides in PEM. Empty fields use the defaults of the
// system.
type Certificates struct {
	// CACert are the trusted authorities, in place of the system's.
	CACert []byte
	// Cert is the client certificate, and Key its key. Key may be empty if Cert contains it.
	Cert, Key []byte
	// Insecure accepts every certificate of the server.
	Insecure bool
}

// The errors of Certificates.TLS. Their texts quote nothing from the files.
var (
	ErrNoAuthority  = errors.New("it contains no PEM certificate")
	ErrKeyEncrypted = errors.New("the key is encrypted; mcpc does not support passphrases")
)

// TLS returns the TLS configuration with these certificates. The error is ErrNoAuthority,
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
	// The user chose the certificate: it is sent whichever authorities the server lists.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	return config, nil
}

// isEncrypted reports whether raw has an encrypted key, in the format of PKCS #8 or in the older
// format of OpenSSL.
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

// WithCertificateHook returns a copy of config that calls requested when the server requests a
// certificate. hasOwn is set if config has a certificate to send. config may be nil.
func WithCertificateHook(config *tls.Config, requested func(hasOwn bool)) *tls.Config {
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config = config.Clone()
	own := config.GetClientCertificate
	config.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		requested(own != nil)
		if own == nil {
			return &tls.Certificate{}, nil // sends no certificate
		}
		return own(info)
	}
	return config
}

// NoProxy disables proxies in place of a proxy's URL.
const NoProxy = "none"

// ProxyFor returns the function that finds proxies. given is a URL for all requests, NoProxy, or ""
// to use the proxies of the environment variables, which exclude NO_PROXY and addresses of this
// machine.
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
		return nil, fmt.Errorf("the scheme of a proxy URL must be http, https or socks5, not %q", u.Scheme)
	}
	return http.ProxyURL(u), nil
}

// proxyFromEnvironment returns a ProxyFunc for HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in
// upper or lower case.
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

// Pins replace a "host:port" by other addresses: "address:port", tried in order, or the path of a
// unix socket. The host "*" matches every host.
type Pins map[string][]string

// Addresses returns the addresses for "host:port"; nil if it is not pinned.
func (p Pins) Addresses(address string) []string {
	if places, ok := p[strings.ToLower(address)]; ok {
		return places
	}
	_, port, _ := net.SplitHostPort(address)
	return p[net.JoinHostPort("*", port)]
}

// Pin adds HOST:PORT:ADDRESS[,ADDRESS], the form of curl's --resolve.
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

// WrapDial returns dial with pinned addresses replaced.
func (p Pins) WrapDial(dial DialFunc) DialFunc {
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		places := p.Addresses(address)
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

// WrapProxy returns find without a proxy for hosts that are pinned to a unix socket.
func (p Pins) WrapProxy(find ProxyFunc) ProxyFunc {
	return func(req *http.Request) (*url.URL, error) {
		if places := p.Addresses(HostPort(req.URL)); len(places) > 0 && isSocketPath(places[0]) {
			return nil, nil
		}
		return find(req)
	}
}

// isSocketPath reports whether place is the path of a socket, in contrast to an address with a
// port.
func isSocketPath(place string) bool {
	_, _, err := net.SplitHostPort(place)
	return err != nil || strings.ContainsRune(place, '/')
}

// HostPort returns the host and port of a URL, with the default port of its scheme.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// A DialFunc opens a connection, as net.Dialer.DialContext does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)
