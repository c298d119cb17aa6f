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

// graceForLook is how long is looked for what the user may have meant.
const graceForLook = 500 * time.Millisecond

// SuggestLoopback says so where a server listens at the same port of the other
// loopback address: ::1 for 127.0.0.1, or the other way. Servers that bind
// "localhost" take one of the two, and not always the same.
func (c *Connector) SuggestLoopback(ctx context.Context, server string, o *wire.Outcome) {
	if o.Kind != wire.Transport || !isDialing(o.Err) {
		return
	}
	u := c.direct(server)
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
		there := *u
		there.Host = net.JoinHostPort(other, u.Port())
		if conn := c.look(ctx, &there); conn != nil {
			conn.Close()
			o.Hint = wire.Hint("something listens on " + there.Host + ": try -s " + redact.RedactURL(there.String()))
			return
		}
	}
}

// SuggestTLS says so where http:// was spoken to a port of TLS. Some servers
// answer that with 400, some with an alert, and some just leave; whether it was
// that is found out by beginning a handshake, after which nothing is sent.
func (c *Connector) SuggestTLS(ctx context.Context, server string, o *wire.Outcome) {
	u := c.direct(server)
	if u == nil || u.Scheme != "http" || o.Kind != wire.Transport || isDialing(o.Err) {
		return
	}
	if o.HTTP != nil && o.HTTP.Status != http.StatusBadRequest {
		return
	}
	conn := c.look(ctx, u)
	if conn == nil {
		return
	}
	defer conn.Close()
	ctx, stop := context.WithTimeout(ctx, graceForLook)
	defer stop()
	// Whose certificate it is does not matter: nothing is entrusted to the server.
	err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
	var alert tls.AlertError
	if err == nil || errors.As(err, &alert) {
		o.Hint = "that port speaks TLS: try https:// instead of http://"
		o.Pin = ""
	}
}

// isDialing reports that there was no connection at all over the network.
func isDialing(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" && op.Net != "unix"
}

// direct is the server's URL where it is asked directly, else nil.
func (c *Connector) direct(server string) *url.URL {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return nil
	}
	if proxy, err := c.proxy(&http.Request{URL: u}); proxy != nil || err != nil {
		return nil
	}
	return u
}

// look opens a connection to the host of u, if that can be had quickly.
func (c *Connector) look(ctx context.Context, u *url.URL) net.Conn {
	ctx, stop := context.WithTimeout(ctx, graceForLook)
	defer stop()
	conn, err := c.dial(ctx, "tcp", network.HostPort(u))
	if err != nil {
		return nil
	}
	return conn
}
