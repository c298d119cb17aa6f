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

// NetworkFlags are the flags that say how a server is reached. They are named and mean
// as curl's do. A session remembers all but insecure, which has to be said each time.
type NetworkFlags struct {
	state.Reach
	Insecure bool
}

// over are the flags, and where they say nothing what the session remembers. Paths
// become good in every directory.
func (o NetworkFlags) over(saved *state.Reach) (state.Reach, error) {
	now := o.Reach
	for _, path := range []*string{&now.CACert, &now.Cert, &now.Key, &now.Socket} {
		if *path == "" {
			continue
		}
		full, err := filepath.Abs(*path)
		if err != nil {
			return now, err
		}
		*path = full
	}
	if now.Socket != "" && now.Proxy != "" && now.Proxy != network.NoProxy {
		return now, usage.New("--unix-socket cannot be combined with --proxy", "remove one of them")
	}
	if saved != nil {
		now = filled(now, *saved)
	}
	if now.Key != "" && now.Cert == "" {
		return now, usage.New("--key needs --cert", "--cert FILE names it")
	}
	return now, nil
}

// filled is now, with what it leaves out. A certificate and its key are one thing, and
// so are the two ways round the network.
func filled(now, saved state.Reach) state.Reach {
	if now.Cert == "" && now.Key == "" {
		now.Cert = saved.Cert
		now.Key = saved.Key
	} else {
		now.Cert = cmp.Or(now.Cert, saved.Cert)
	}
	if now.Proxy == "" {
		now.Socket = cmp.Or(now.Socket, saved.Socket)
	}
	if now.Socket == "" {
		now.Proxy = cmp.Or(now.Proxy, saved.Proxy)
	}
	now.CACert = cmp.Or(now.CACert, saved.CACert)
	if len(now.Resolve) == 0 {
		now.Resolve = saved.Resolve
	}
	return now
}

// A Network is how the server of a command is reached, with all files read.
type Network struct {
	state.Reach
	server string // "host:port"
	// TLS is for the server, others for the hosts that it names.
	TLS, others *tls.Config
	Pins        network.Pins
	ProxyFunc   network.ProxyFunc
}

// NetworkFor settles the way to a server. Its errors are of the command line.
func (e *Env) NetworkFor(endpoint string, saved *state.Reach) (*Network, error) {
	r, err := e.Network.over(saved)
	if err != nil {
		return nil, err
	}
	e.Secrets.LearnURL(string(r.Proxy))
	w := &Network{Reach: r, Pins: network.Pins{}}
	if err := secure(e, w); err != nil {
		return nil, err
	}
	for _, text := range r.Resolve {
		if err := w.Pins.Pin(text); err != nil {
			return nil, usage.New("--resolve: "+err.Error(), "--resolve mcp.example:443:127.0.0.1")
		}
	}
	if u, err := url.Parse(endpoint); err == nil {
		w.server = network.HostPort(u)
		if r.Socket != "" {
			w.Pins[w.server] = []string{r.Socket}
		}
	}
	proxy, err := network.ProxyFor(string(r.Proxy), e.Getenv)
	if err != nil {
		return nil, usage.New("--proxy: "+err.Error(), "--proxy http://127.0.0.1:8080")
	}
	w.ProxyFunc = w.Pins.WrapProxy(proxy)
	if e.Network.Insecure && e.Route == nil {
		e.UI.Warn(
			"--insecure: the server's certificate is NOT verified; an attacker in between can read and change everything, tokens included",
		)
	}
	e.Route = w
	return w, nil
}

// secure reads the files of certificates.
func secure(e *Env, w *Network) (err error) {
	papers := network.Certificates{Insecure: e.Network.Insecure}
	for _, f := range []struct {
		flag, name string
		into       *[]byte
	}{{"--cacert", w.CACert, &papers.CACert}, {"--cert", w.Cert, &papers.Cert}, {"--key", w.Key, &papers.Key}} {
		if f.name == "" {
			continue
		}
		*f.into, err = e.ReadFile(f.name, MostSecret)
		if err != nil {
			return usage.NotRead(f.flag+" "+f.name, err, f.flag+" must be a PEM file")
		}
		if len(*f.into) == 0 {
			return usage.New(f.flag+" "+f.name+": the file is empty", wire.Hint(f.flag+" must be a PEM file"))
		}
	}
	w.TLS, err = papers.TLS()
	if err != nil {
		return w.unusable(err)
	}
	w.others, err = network.Certificates{CACert: papers.CACert}.TLS()
	return err
}

// unusable says which file it was, and what can be done about it.
func (w *Network) unusable(err error) error {
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

// Kept is what a session remembers of the way, nil for nothing.
func (w *Network) Kept() *state.Reach {
	if w == nil || reflect.ValueOf(w.Reach).IsZero() {
		return nil
	}
	return &w.Reach
}

// Options are the way as curl is told it.
func (w *Network) Options(insecure bool) (all [][2]string) {
	if w == nil {
		return nil
	}
	if insecure {
		all = append(all, [2]string{"--insecure"})
	}
	named := [][2]string{{"--cacert", w.CACert}, {"--cert", w.Cert}, {"--key", w.Key},
		{"--proxy", redact.RedactURL(string(w.Proxy))}, {"--unix-socket", w.Socket}}
	if w.Proxy == network.NoProxy {
		named[3] = [2]string{"--noproxy", "*"}
	}
	for _, text := range w.Resolve {
		named = append(named, [2]string{"--resolve", text})
	}
	for _, o := range named {
		if o[1] != "" {
			all = append(all, o)
		}
	}
	return all
}

// RememberNetwork settles the way to a server that no conversation was opened with in this
// run: it is that of a session with it.
func (e *Env) RememberNetwork(endpoint string) error {
	if e.Route != nil {
		return nil
	}
	var saved *state.Reach
	_, remembered, _ := e.LoadState() // what cannot be read says nothing
	for _, name := range remembered.Names() {
		if s, _ := remembered.Session(name); s.Endpoint == endpoint && s.Reach != nil {
			saved = s.Reach
		}
	}
	_, err := e.NetworkFor(endpoint, saved)
	return err
}

// Dialer opens connections, pinned or not.
func (w *Network) Dialer(limit time.Duration) network.DialFunc {
	return w.Pins.WrapDial((&net.Dialer{Timeout: limit}).DialContext)
}

// ForAuth is the way to the authorization servers that a server names; w may be nil.
func (w *Network) ForAuth() auth.Network {
	if w == nil {
		return auth.Network{}
	}
	return auth.Network{Server: w.server, ServerTLS: w.TLS, TLS: w.others, Proxy: w.ProxyFunc,
		Pinned: func(address string) bool { return len(w.Pins.Places(address)) > 0 },
		Dial:   w.Dialer(authDialTime)}
}

// authDialTime limits a connection on the way to a token.
const authDialTime = 5 * time.Second
