package host

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
	"time"

	"mcpc/internal/client/auth"
	"mcpc/internal/client/network"
	"mcpc/internal/redact"
	"mcpc/internal/state"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// NetworkFlags are the flags that say how a server is reached. They have the names and meanings of
// curl's flags. A session remembers all but Insecure, which has to be given each time.
type NetworkFlags struct {
	state.Reach
	Insecure bool
}

// complete returns the flags with absolute paths, completed by the session's flags. saved may be
// nil. Flags that exclude each other, or a key without a certificate, are a usage error.
func (o NetworkFlags) complete(saved *state.Reach) (state.Reach, error) {
	merged := o.Reach
	for _, path := range []*string{&merged.CACert, &merged.Cert, &merged.Key, &merged.Socket} {
		if *path == "" {
			continue
		}
		full, err := filepath.Abs(*path)
		if err != nil {
			return merged, err
		}
		*path = full
	}
	if merged.Socket != "" && merged.Proxy != "" && merged.Proxy != network.NoProxy {
		return merged, usage.New("--unix-socket cannot be combined with --proxy", "remove one of them")
	}
	if saved != nil {
		merged = fillMissing(merged, *saved)
	}
	if merged.Key != "" && merged.Cert == "" {
		return merged, usage.New("--key needs --cert", "--cert FILE names it")
	}
	return merged, nil
}

// fillMissing returns typed with the missing settings of saved. A saved key is used only with its
// certificate, and a saved proxy or socket only if the user typed neither.
func fillMissing(typed, saved state.Reach) state.Reach {
	if typed.Cert == "" && typed.Key == "" {
		typed.Cert = saved.Cert
		typed.Key = saved.Key
	} else if typed.Cert == "" { // the user replaces only the key
		typed.Cert = saved.Cert
	}
	if typed.Proxy == "" && typed.Socket == "" {
		typed.Socket = saved.Socket
	}
	if typed.Socket == "" && typed.Proxy == "" {
		typed.Proxy = saved.Proxy
	}
	if typed.CACert == "" {
		typed.CACert = saved.CACert
	}
	if len(typed.Resolve) == 0 {
		typed.Resolve = saved.Resolve
	}
	return typed
}

// A Network is how the server of a command is reached, with all files read.
type Network struct {
	state.Reach
	server string // "host:port"
	// TLS is for the server, authTLS for the authorization servers that it names.
	TLS, authTLS *tls.Config
	Pins         network.Pins
	ProxyFunc    network.ProxyFunc
}

// NetworkFor returns how a server is reached, and sets e.Route. It reads the files that the flags
// name. saved has the settings of the session, or is nil. Its errors are usage errors.
func (e *Env) NetworkFor(endpoint string, saved *state.Reach) (*Network, error) {
	reach, err := e.Network.complete(saved)
	if err != nil {
		return nil, err
	}
	e.Secrets.LearnURL(string(reach.Proxy))
	route := &Network{Reach: reach, Pins: network.Pins{}}
	if err := readCertificates(e, route); err != nil {
		return nil, err
	}
	for _, text := range reach.Resolve {
		if err := route.Pins.Pin(text); err != nil {
			return nil, usage.New("--resolve: "+err.Error(), "--resolve mcp.example:443:127.0.0.1")
		}
	}
	if u, err := url.Parse(endpoint); err == nil { // an invalid URL fails when it is dialed
		route.server = network.HostPort(u)
		if reach.Socket != "" {
			route.Pins[route.server] = []string{reach.Socket} // a path in place of an address
		}
	}
	proxy, err := network.ProxyFor(string(reach.Proxy), e.Getenv)
	if err != nil {
		return nil, usage.New("--proxy: "+err.Error(), "--proxy http://127.0.0.1:8080")
	}
	route.ProxyFunc = route.Pins.WrapProxy(proxy)
	if e.Network.Insecure && e.Route == nil { // warn once
		e.UI.Warn("--insecure: the server's certificate is NOT verified; " +
			"an attacker in between can read and change everything, tokens included")
	}
	e.Route = route
	return route, nil
}

// readCertificates reads the files of certificates and sets the TLS configurations of w. Its errors
// name the flag.
func readCertificates(e *Env, w *Network) error {
	certificates := network.Certificates{Insecure: e.Network.Insecure}
	var err error
	for _, file := range []struct {
		flag, name string
		content    *[]byte
	}{
		{"--cacert", w.CACert, &certificates.CACert},
		{"--cert", w.Cert, &certificates.Cert},
		{"--key", w.Key, &certificates.Key},
	} {
		if file.name == "" {
			continue
		}
		*file.content, err = e.ReadFile(file.name, MostSecret)
		if err != nil {
			return usage.NotRead(file.flag+" "+file.name, err, file.flag+" must be a PEM file")
		}
		if len(*file.content) == 0 {
			return usage.New(file.flag+" "+file.name+": the file is empty", wire.Hint(file.flag+" must be a PEM file"))
		}
	}
	w.TLS, err = certificates.TLS()
	if err != nil {
		return w.certificateError(err)
	}
	// Authorization servers get neither the client certificate nor --insecure: the server names them.
	w.authTLS, err = network.Certificates{CACert: certificates.CACert}.TLS()
	return err
}

// certificateError returns the usage error for certificates that cannot be used, with the flag and
// a remedy.
func (w *Network) certificateError(err error) error {
	if errors.Is(err, network.ErrNoAuthority) {
		return usage.New(
			"--cacert "+w.CACert+": "+err.Error(),
			"convert DER to PEM: openssl x509 -inform der -in FILE -out ca.pem",
		)
	}
	if errors.Is(err, network.ErrKeyEncrypted) {
		return usage.New(
			"--key "+cmp.Or(w.Key, w.Cert)+": "+err.Error(),
			"remove the passphrase: openssl pkey -in FILE -out key.pem",
		)
	}
	return usage.New("--cert "+w.Cert+": "+err.Error(), "--cert and --key must belong to each other; both are PEM files")
}

// Kept returns what a session remembers, or nil if all settings are defaults.
func (w *Network) Kept() *state.Reach {
	if w == nil || reflect.ValueOf(w.Reach).IsZero() {
		return nil
	}
	return &w.Reach
}

// Options returns the settings as options of curl, each a name and a value or "". It omits settings
// that are not set. w may be nil.
func (w *Network) Options(insecure bool) [][2]string {
	if w == nil {
		return nil
	}
	var all [][2]string
	if insecure {
		all = append(all, [2]string{"--insecure"})
	}
	proxy := [2]string{"--proxy", redact.RedactURL(string(w.Proxy))}
	if w.Proxy == network.NoProxy {
		proxy = [2]string{"--noproxy", "*"}
	}
	named := [][2]string{
		{"--cacert", w.CACert},
		{"--cert", w.Cert},
		{"--key", w.Key},
		proxy,
		{"--unix-socket", w.Socket},
	}
	for _, text := range w.Resolve {
		named = append(named, [2]string{"--resolve", text})
	}
	for _, option := range named {
		if option[1] != "" {
			all = append(all, option)
		}
	}
	return all
}

// RememberNetwork sets e.Route for a server that this command opened no connection to, from the
// flags and a session with the same endpoint. It does nothing if e.Route is set.
func (e *Env) RememberNetwork(endpoint string) error {
	if e.Route != nil {
		return nil
	}
	var saved *state.Reach
	_, remembered, _ := e.LoadState() // a state that cannot be read has no sessions
	for _, name := range remembered.Names() {
		if s, _ := remembered.Session(name); s.Endpoint == endpoint && s.Reach != nil {
			saved = s.Reach
		}
	}
	_, err := e.NetworkFor(endpoint, saved)
	return err
}

// Dialer returns a function that opens connections, to the pinned address if there is one.
func (w *Network) Dialer(limit time.Duration) network.DialFunc {
	return w.Pins.WrapDial((&net.Dialer{Timeout: limit}).DialContext)
}

// ForAuth returns how the authorization servers of a server are reached. w may be nil.
func (w *Network) ForAuth() auth.Network {
	if w == nil {
		return auth.Network{}
	}
	return auth.Network{
		Server: w.server, ServerTLS: w.TLS, TLS: w.authTLS, Proxy: w.ProxyFunc,
		Pinned: func(address string) bool { return len(w.Pins.Addresses(address)) > 0 },
		Dial:   w.Dialer(authDialTime),
	}
}

// authDialTime limits connecting to an authorization server.
const authDialTime = 5 * time.Second
