package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mcpc/internal/client/network"
	"mcpc/internal/loopback"
)

// What one document or answer may cost.
const (
	maxDocument  = 1 << 20
	maxRedirects = 3
	maxURL       = 8 << 10
	fetchTime    = 5 * time.Second
	tokenTime    = 20 * time.Second
	// A kept connection is used sooner than its server closes it, Node's after five
	// seconds: the request for tokens comes when a person is done, and only once.
	idleTime = 4 * time.Second
)

// A Net fetches what strangers name: the addresses of metadata and endpoints come
// from servers, so that each is held against the rules before anything is sent, and
// once more when the name has become an address (docs, "Security Best Practices").
type Net struct {
	near Nearness
	way  Network
	// web follows no redirect; reader does, for documents.
	web, reader *http.Client
}

// A Nearness says in what sort of network something is; a greater one is nearer.
type Nearness int

// Public is everywhere, Private a network of one's own, Loopback this machine. Special
// addresses, such as link-local ones, belong to no server that needs a token.
const (
	Public Nearness = iota
	Private
	Loopback
	Special
)

// NewNet makes a Net for a server that is itself as near as that. What the user says
// of the way there does not bring it nearer.
func NewNet(near Nearness, way Network) *Net {
	n := &Net{near: near, way: way.withDefaults()}
	var proxies sync.Map // host:port of the proxies in use
	guarded := &net.Dialer{Timeout: fetchTime, Control: func(_, address string, _ syscall.RawConn) error {
		// This is the address that a name became, right before the connection.
		at, err := netip.ParseAddrPort(address)
		if err != nil || !n.allows(at.Addr()) {
			return blocked(fmt.Sprintf("a public server named a private network address: %s", address))
		}
		return nil
	}}
	transport := &http.Transport{
		ForceAttemptHTTP2: true, MaxIdleConns: 4, IdleConnTimeout: idleTime,
		MaxResponseHeaderBytes: 256 << 10, TLSClientConfig: way.TLS,
		Proxy: func(req *http.Request) (*url.URL, error) {
			u, err := n.way.Proxy(req)
			if u != nil {
				proxies.Store(network.HostPort(u), true)
			}
			return u, err
		},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if _, isProxy := proxies.Load(strings.ToLower(address)); isProxy || n.way.Pinned(address) {
				return n.way.Dial(ctx, network, address)
			}
			return guarded.DialContext(ctx, network, address)
		},
	}
	through := byServer{server: way.Server, theServers: transport.Clone(), others: transport}
	through.theServers.TLSClientConfig = way.ServerTLS
	n.web = &http.Client{Transport: through, Timeout: way.within(tokenTime),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	n.reader = &http.Client{Transport: through, Timeout: way.within(fetchTime),
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return blocked("more than three metadata redirects")
			}
			return n.check(req.URL.String())
		}}
	return n
}

// NearnessOf looks up in what network a server is. One that cannot be looked up, as
// behind a proxy, counts as public.
func NearnessOf(ctx context.Context, endpoint string) Nearness {
	u, err := url.Parse(endpoint)
	if err != nil {
		return Public
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return nearness(ip)
	}
	ctx, stop := context.WithTimeout(ctx, fetchTime)
	defer stop()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil || len(ips) == 0 {
		return Public
	}
	least := Special
	for _, ip := range ips {
		least = min(least, nearness(ip))
	}
	return least
}

var privateNets = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")

var specialNets = prefixes(
	"0.0.0.0/8",
	"169.254.0.0/16",
	"192.0.0.0/24",
	"192.0.2.0/24",
	"198.18.0.0/15",
	"198.51.100.0/24",
	"203.0.113.0/24",
	"224.0.0.0/3",
	"::/128",
	"fe80::/10",
	"fec0::/10",
	"ff00::/8",
	"100::/64",
	"2001:db8::/32",
)

// embeddingNets hold an IPv4 address in their last or middle bytes, which is where
// the packets go.
var embeddingNets = []struct {
	prefix netip.Prefix
	at     int
}{{netip.MustParsePrefix("64:ff9b::/96"), 12}, {netip.MustParsePrefix("64:ff9b:1::/48"), 12}, {netip.MustParsePrefix("2002::/16"), 2}, {netip.MustParsePrefix("::/96"), 12}}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func nearness(ip netip.Addr) Nearness {
	ip = ip.Unmap().WithZone("")
	within := func(nets []netip.Prefix) bool {
		return slices.ContainsFunc(nets, func(p netip.Prefix) bool { return p.Contains(ip) })
	}
	if ip.IsLoopback() {
		return Loopback
	}
	if within(specialNets) {
		return Special
	}
	if within(privateNets) {
		return Private
	}
	for _, e := range embeddingNets {
		if e.prefix.Contains(ip) {
			raw := ip.As16()
			return nearness(netip.AddrFrom4([4]byte(raw[e.at : e.at+4])))
		}
	}
	return Public
}

// allows lets a server name what is as near, or farther.
func (n *Net) allows(ip netip.Addr) bool { return nearness(ip) <= n.near }

func blocked(text string) *Error {
	return &Error{Rule: URLBlocked, Text: text}
}

// check holds an address against the rules that need no look-up.
func (n *Net) check(raw string) error {
	u, err := SafeURL(raw)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !n.allows(ip) {
		return blocked("a public server named a private network address: " + u.Host)
	}
	return nil
}

// SafeURL takes https, and http on this machine, with a host and nothing in it that the
// program which opens it could misread. It comes back encoded anew.
func SafeURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	isOdd := func(r rune) bool { // net/url takes more for a host, quotes among it
		isAlphanumeric := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !isAlphanumeric && !strings.ContainsRune(".-_:[]", r)
	}
	switch {
	case len(raw) > maxURL:
		return nil, blocked("a URL of more than 8 KiB")
	case err != nil:
		return nil, blocked("not a URL: " + fmt.Sprintf("%q", raw))
	case u.Scheme != "https" && u.Scheme != "http", u.Opaque != "", u.Hostname() == "":
		return nil, blocked(fmt.Sprintf("not an https URL: %q", raw))
	case strings.ContainsFunc(u.Host, isOdd):
		return nil, blocked(fmt.Sprintf("a URL with an invalid host: %q", raw))
	case u.User != nil:
		return nil, blocked("a URL with a user in it: host " + u.Host)
	case u.Scheme == "http" && !loopback.IsHere(u.Hostname()):
		return nil, blocked(fmt.Sprintf("http is allowed on loopback only: %q", raw))
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, blocked(fmt.Sprintf("a URL with an invalid query: %q", raw))
	}
	u.RawQuery = query.Encode()
	u.Fragment = ""
	u.RawFragment = ""
	return u, nil
}

// IsLocal reports a URL of this machine.
func IsLocal(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && loopback.IsHere(u.Hostname())
}

// send sends a request to an address that a server named, and reads the response: a document of at most 1 MiB.
func (n *Net) send(
	ctx context.Context, web *http.Client, method, where string, fields http.Header, body []byte,
) (raw []byte, status int, err error) {
	d, err := n.exchange(ctx, web, method, where, fields, body)
	if err == nil && d.TooLarge {
		err = &Error{Rule: Unreachable, Text: hostOf(d.URL) + " answered with more than 1 MiB"}
	}
	if err != nil {
		return nil, d.Status, err
	}
	return bytes.TrimPrefix(d.Raw, []byte("\ufeff")), d.Status, nil
}

// exchange sends a request to an address that a server named, once the rules were checked for it, and reads the
// response. The body of one that is too large is cut. No error has any of it.
func (n *Net) exchange(
	ctx context.Context, web *http.Client, method, where string, fields http.Header, body []byte,
) (Fetched, error) {
	if err := n.check(where); err != nil {
		return Fetched{}, err
	}
	req, err := http.NewRequestWithContext(ctx, method, where, bytes.NewReader(body))
	if err != nil {
		return Fetched{}, blocked(fmt.Sprintf("not a URL: %q", where))
	}
	if fields != nil {
		req.Header = fields
	}
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	req.Header.Set("User-Agent", "mcpc")
	resp, err := web.Do(req)
	if err != nil {
		return Fetched{}, unreachable(where, err)
	}
	defer resp.Body.Close()
	d := Fetched{URL: resp.Request.URL.String(), Status: resp.StatusCode, Type: resp.Header.Get("Content-Type")}
	d.Raw, err = io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return d, unreachable(where, err)
	}
	d.TooLarge = len(d.Raw) > maxDocument
	return d, nil
}

// Close lets go of the connections.
func (n *Net) Close() { n.web.CloseIdleConnections() }

// unreachable keeps what the rules said, and leaves the URL out of the rest.
func unreachable(where string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return &Error{Rule: Unreachable, Text: hostOf(where) + " did not answer in time", Err: err}
	}
	return &Error{Rule: Unreachable, Text: hostOf(where) + " could not be reached: " + err.Error(), Err: err}
}

func hostOf(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.Host != "" {
		return u.Host
	}
	return "the server"
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
}
