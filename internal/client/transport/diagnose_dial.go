package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mcpc/internal/client/network"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// probeTimeout limits the time to probe for the server that the user may have meant.
const probeTimeout = 500 * time.Millisecond

// SuggestLoopback adds a hint if a server listens on the same port of the other loopback address,
// ::1 or 127.0.0.1. Servers that bind "localhost" choose one of the two, and not always the same.
func (c *Connector) SuggestLoopback(ctx context.Context, server string, o *wire.Outcome) {
	if o.Kind != wire.Transport || !isDialing(o.Err) {
		return
	}
	u := c.directURL(server)
	if u == nil {
		return
	}
	host := strings.ToLower(u.Hostname())
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return
	}
	for _, other := range []string{"127.0.0.1", "::1"} {
		if other == host {
			continue
		}
		suggested := *u
		suggested.Host = net.JoinHostPort(other, u.Port())
		if conn := c.dialProbe(ctx, &suggested); conn != nil {
			conn.Close()
			shown := redact.RedactURL(suggested.String())
			o.Hint = wire.Hint("something listens on " + suggested.Host + ": try -s " + shown)
			return
		}
	}
}

// SuggestTLS adds a hint if an http:// URL names a port that speaks TLS. Some servers answer such a
// request with 400, some with an alert, and some close the connection. SuggestTLS tries a handshake
// to find out, and sends nothing after it.
func (c *Connector) SuggestTLS(ctx context.Context, server string, o *wire.Outcome) {
	u := c.directURL(server)
	if u == nil || u.Scheme != "http" || o.Kind != wire.Transport || isDialing(o.Err) {
		return
	}
	if o.HTTP != nil && o.HTTP.Status != http.StatusBadRequest {
		return
	}
	conn := c.dialProbe(ctx, u)
	if conn == nil {
		return
	}
	defer conn.Close()
	ctx, stop := context.WithTimeout(ctx, probeTimeout)
	defer stop()
	// The certificate need not be valid: no data is sent over this connection.
	err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
	var alert tls.AlertError // only a TLS server sends one
	if err == nil || errors.As(err, &alert) {
		o.Hint = "that port speaks TLS: try https:// instead of http://"
		o.TryRevision = "" // no revision works at an http:// URL
	}
}

// isDialing reports whether no network connection could be opened.
func isDialing(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" && op.Net != "unix"
}

// directURL returns the server's URL, or nil if the server is reached through a proxy.
func (c *Connector) directURL(server string) *url.URL {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return nil
	}
	if proxy, err := c.proxy(&http.Request{URL: u}); proxy != nil || err != nil {
		return nil
	}
	return u
}

// dialProbe opens a connection to the host of u. It returns nil if that fails or takes longer than
// probeTimeout.
func (c *Connector) dialProbe(ctx context.Context, u *url.URL) net.Conn {
	ctx, stop := context.WithTimeout(ctx, probeTimeout)
	defer stop()
	conn, err := c.dial(ctx, "tcp", network.HostPort(u))
	if err != nil {
		return nil
	}
	return conn
}
