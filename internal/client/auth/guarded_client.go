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

// Limits of one request.
const (
	maxDocument  = 1 << 20
	maxRedirects = 3
	maxURL       = 8 << 10
	fetchTime    = 5 * time.Second
	tokenTime    = 20 * time.Second
	// idleTime is shorter than the limit of common servers (5 s for Node): the token request follows a
	// user's login, and must not fail because the server closes the connection.
	idleTime = 4 * time.Second
)

// A Net sends requests to URLs that servers name, such as metadata and endpoints. It checks each URL
// before it sends anything, and each address after the name was resolved (docs, "Security Best
// Practices").
type Net struct {
	near  Nearness
	route Network
	// web follows no redirect. reader, for documents, follows redirects.
	web, reader *http.Client
}

// A Nearness is the kind of network of an address. A larger value is nearer.
type Nearness int

// Public is the internet, Private a private network, Loopback this machine. Special addresses, such
// as link-local ones, belong to no server that needs a token.
const (
	Public Nearness = iota
	Private
	Loopback
	Special
)

// NewNet returns a Net for a server with that nearness, which reaches hosts as route says. Settings of
// the user, such as a proxy, do not change the nearness.
func NewNet(near Nearness, route Network) *Net {
	n := &Net{near: near, route: route.withDefaults()}
	var proxies sync.Map // host:port of the proxies in use, where Dial connects without a check
	guarded := &net.Dialer{Timeout: fetchTime, Control: func(_, address string, _ syscall.RawConn) error {
		// address is the resolved address, right before the connection.
		resolved, err := netip.ParseAddrPort(address)
		if err != nil || !n.allows(resolved.Addr()) {
			return blockedError(fmt.Sprintf("a public server named a private network address: %s", address))
		}
		return nil
	}}
	transport := &http.Transport{
		ForceAttemptHTTP2: true, MaxIdleConns: 4, IdleConnTimeout: idleTime,
		MaxResponseHeaderBytes: 256 << 10, TLSClientConfig: route.TLS,
		Proxy: func(req *http.Request) (*url.URL, error) {
			u, err := n.route.Proxy(req)
			if u != nil {
				proxies.Store(network.HostPort(u), true)
			}
			return u, err
		},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if _, isProxy := proxies.Load(strings.ToLower(address)); isProxy || n.route.Pinned(address) {
				return n.route.Dial(ctx, network, address)
			}
			return guarded.DialContext(ctx, network, address)
		},
	}
	through := byServer{server: route.Server, serverOnly: transport.Clone(), others: transport}
	through.serverOnly.TLSClientConfig = route.ServerTLS // may have the user's certificate
	n.web = &http.Client{
		Transport: through, Timeout: route.within(tokenTime),
		// A form has secrets, so it is sent to no other place.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	n.reader = &http.Client{
		Transport: through, Timeout: route.within(fetchTime),
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return blockedError("more than three metadata redirects")
			}
			return n.checkURL(req.URL.String())
		},
	}
	return n
}

// NearnessOf resolves the host of a URL and returns its nearness, the farthest one if the host has
// several addresses. A host that cannot be resolved, as with a proxy, counts as public.
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
	farthest := Special // no address is nearer
	for _, ip := range ips {
		farthest = min(farthest, nearness(ip))
	}
	return farthest
}

var privateNets = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")

var specialNets = prefixes("0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3", "::/128", "fe80::/10", "fec0::/10", "ff00::/8", "100::/64",
	"2001:db8::/32")

// embeddingNets contain an IPv4 address in their last or middle bytes. Packets are forwarded to it.
var embeddingNets = []struct {
	prefix netip.Prefix
	// offset is the index of the first byte of the IPv4 address.
	offset int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
	{netip.MustParsePrefix("::/96"), 12},
}

// prefixes parses prefixes of addresses.
func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// nearness returns the nearness of an address.
func nearness(ip netip.Addr) Nearness {
	ip = ip.Unmap().WithZone("") // ::ffff:10.0.0.1 is 10.0.0.1
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
	for _, embedding := range embeddingNets {
		if embedding.prefix.Contains(ip) {
			raw := ip.As16()
			return nearness(netip.AddrFrom4([4]byte(raw[embedding.offset : embedding.offset+4])))
		}
	}
	return Public
}

// allows reports whether the server may name an address: the address may not be nearer than the
// server.
func (n *Net) allows(ip netip.Addr) bool { return nearness(ip) <= n.near }

// blockedError returns the error for a URL that must not be used.
func blockedError(text string) *Error {
	return &Error{Rule: URLBlocked, Text: text}
}

// checkURL returns an error for a URL that must not be used. It does not resolve the host: the dialer
// checks the address of a name.
func (n *Net) checkURL(raw string) error {
	u, err := SafeURL(raw)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !n.allows(ip) {
		return blockedError("a public server named a private network address: " + u.Host)
	}
	return nil
}

// SafeURL parses and checks a URL that a server names. It accepts https, and http on this machine,
// and nothing that a program could misread when it opens the URL. It returns the URL with an encoded
// query and without a fragment.
func SafeURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	isOdd := func(r rune) bool { // net/url accepts more characters in a host, such as quotes
		isAlphanumeric := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !isAlphanumeric && !strings.ContainsRune(".-_:[]", r)
	}
	if len(raw) > maxURL {
		return nil, blockedError("a URL of more than 8 KiB")
	}
	if err != nil {
		return nil, blockedError("not a URL: " + fmt.Sprintf("%q", raw))
	}
	if u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" || u.Hostname() == "" {
		return nil, blockedError(fmt.Sprintf("not an https URL: %q", raw))
	}
	if strings.ContainsFunc(u.Host, isOdd) {
		return nil, blockedError(fmt.Sprintf("a URL with an invalid host: %q", raw))
	}
	if u.User != nil {
		return nil, blockedError("a URL with a user in it: host " + u.Host)
	}
	if u.Scheme == "http" && !loopback.IsHere(u.Hostname()) {
		return nil, blockedError(fmt.Sprintf("http is allowed on loopback only: %q", raw))
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, blockedError(fmt.Sprintf("a URL with an invalid query: %q", raw))
	}
	u.RawQuery = query.Encode()
	u.Fragment = ""
	u.RawFragment = ""
	return u, nil
}

// IsLocal reports whether a URL names this machine.
func IsLocal(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && loopback.IsHere(u.Hostname())
}

// send sends a request to a URL that a server named and returns the response's body, without a byte order
// mark, and its status. A body of more than 1 MiB is an error. fields may be nil.
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

// exchange checks a URL, sends a request to it and reads the response. It cuts a body that is too
// large, and sets TooLarge. Errors contain nothing of the body. It changes fields, which may be nil.
func (n *Net) exchange(
	ctx context.Context, web *http.Client, method, where string, fields http.Header, body []byte,
) (Fetched, error) {
	if err := n.checkURL(where); err != nil {
		return Fetched{}, err
	}
	req, err := http.NewRequestWithContext(ctx, method, where, bytes.NewReader(body))
	if err != nil {
		return Fetched{}, blockedError(fmt.Sprintf("not a URL: %q", where))
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
		return Fetched{}, unreachableError(where, err)
	}
	defer resp.Body.Close()
	d := Fetched{URL: resp.Request.URL.String(), Status: resp.StatusCode, Type: resp.Header.Get("Content-Type")}
	d.Raw, err = io.ReadAll(io.LimitReader(resp.Body, maxDocument+1)) // one more byte shows that it is too large
	if err != nil {
		return d, unreachableError(where, err)
	}
	d.TooLarge = len(d.Raw) > maxDocument
	return d, nil
}

// Close closes the idle connections.
func (n *Net) Close() { n.web.CloseIdleConnections() }

// unreachableError returns the error of a failed request, without its URL. It keeps the errors of
// checkURL.
func unreachableError(where string, err error) error {
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

// hostOf returns the host and port of a URL, or "the server".
func hostOf(raw string) string {
	if u, err := url.Parse(raw); err == nil && u.Host != "" {
		return u.Host
	}
	return "the server"
}

// statusText returns a status for display, as "HTTP 404 Not Found".
func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
}
