package client

import (
	"cmp"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// connectFault names what kept a request from being answered at all. The error
// is judged by its type; whether the request may have reached the server is
// told by the trace, not guessed from the error.
func connectFault(ctx context.Context, rt *trip, err error) *fault {
	f := &fault{kind: wire.Transport, phase: "connect", err: err, retryable: true}
	left := rt.now().wrote
	if left {
		f.phase, f.reached, f.retryable = "wait", wire.Unknown, false
	}
	host := rt.req.URL.Host
	switch {
	case ctx.Err() != nil:
		f.err = context.Cause(ctx)
		f.text = f.err.Error()
	case isAlert(rt, err):
		f.phase, f.reached, f.retryable = "tls", wire.Unsent, false
		f.text = host + " refused the TLS connection: " + err.Error()
		if rt.via.asked.Load() {
			f.hint = "it rejected the certificate of --cert"
		}
	case left && isHangUp(err):
		f.text = "the connection to " + host + " was lost before a response"
	case left:
		f.text = "no response from " + host + " could be read: " + err.Error()
	default:
		describeConnect(f, host, err)
	}
	if rt.via.unshown.Load() && (f.phase == "tls" || isHangUp(err)) {
		f.hint = "the server asked for a certificate: --cert FILE --key FILE"
	}
	return f
}

// isAlert reports that the other side refused TLS with us. With 1.3 it judges our
// certificate only when the request has left already, and then does not look at that.
func isAlert(rt *trip, err error) bool {
	var op *net.OpError
	got := rt.now()
	return errors.As(err, &op) && op.Op == "remote error" && (!got.wrote || !got.reused && rt.via.asked.Load())
}

// isHangUp reports that the other side closed the connection without a response.
func isHangUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isReset(err)
}

// isReset reports that the other side has closed the connection.
func isReset(err error) bool { return errors.Is(err, connReset) || errors.Is(err, connAborted) }

const proxyHint = "put USER:PASSWORD@ before its host, in --proxy or in the variable that names it"

func describeConnect(f *fault, host string, err error) {
	var dns *net.DNSError
	var op *net.OpError
	var timeout net.Error
	var refusal proxyRefusal
	switch {
	case errors.As(err, &refusal):
		f.text, f.hint = "the proxy refused the connection: "+refusal.status, "--proxy none uses no proxy"
		if refusal.code == http.StatusProxyAuthRequired {
			f.hint = proxyHint
		}
	case errors.As(err, &op) && (op.Op == "proxyconnect" || op.Op == "socks connect"):
		f.text, f.hint = "the proxy could not be used: "+op.Err.Error(), "use another with --proxy URL, or none with --proxy none"
	case errors.As(err, &dns) && dns.IsNotFound:
		f.text, f.phase = "no such host: "+dns.Name, "dns"
	case errors.As(err, &dns):
		f.text, f.phase = "the name "+dns.Name+" could not be resolved", "dns"
	case errors.As(err, &op) && op.Net == "unix":
		f.text = "the socket " + op.Addr.String() + " could not be used: " + op.Err.Error()
		f.hint = "check that the server is running and listens on this socket"
	case errors.Is(err, connRefused):
		f.text = "connection refused by " + host
		f.hint = "check that the server is running, or use another URL with -s"
	case describeTLS(f, host, err):
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, connTimedOut):
		f.kind = wire.Timeout
		f.text = "no connection to " + host + " in time"
	case errors.As(err, &op) && op.Op == "dial":
		f.text = "could not connect to " + host + ": " + op.Err.Error()
	default:
		f.text = "the request to " + host + " failed: " + err.Error()
	}
}

// describeTLS says which check of the certificate failed.
func describeTLS(f *fault, host string, err error) bool {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &unknown):
		f.text = "the certificate of " + host + " is signed by an unknown authority" + aboutCertificate(unknown.Cert)
		f.hint = "trust its authority with --cacert FILE, or disable the check with --insecure"
	case errors.As(err, &name):
		f.text = "the certificate of " + host + " is for another name" + aboutCertificate(name.Certificate)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		f.text = "the certificate of " + host + " has expired or is not yet valid" + aboutCertificate(invalid.Cert)
	case errors.As(err, &invalid):
		f.text = "the certificate of " + host + " is not valid: " + invalid.Error()
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		f.text = host + " does not speak TLS"
		f.hint = "try http:// instead of https://"
	case errors.As(err, &alert):
		f.text = "the TLS handshake with " + host + " failed: " + alert.Error()
	default:
		return false
	}
	f.phase, f.retryable = "tls", false
	return true
}

// aboutCertificate says subject, names and validity of a certificate; "" for nil.
func aboutCertificate(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return fmt.Sprintf(" (%s, for %s, from %s until %s)", c.Subject, cmp.Or(strings.Join(names, ", "), "none"),
		c.NotBefore.Format(time.DateOnly), c.NotAfter.Format(time.DateOnly))
}

// statusFault names an HTTP status that carried no JSON-RPC answer.
func statusFault(resp *http.Response, body []byte) *fault {
	status := fmt.Sprintf("HTTP %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	f := &fault{kind: wire.Transport, phase: "wait", reached: wire.Answered, raw: body,
		status: resp.StatusCode, text: "the server answered " + status}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		f.kind, f.text = wire.Auth, "authentication required ("+status+")"
		f.hint = "send a token: -H 'Authorization: Bearer …'"
	case code == http.StatusForbidden:
		f.kind, f.text = wire.Auth, "access denied by the server ("+status+")"
	case code == http.StatusNotModified:
		f.text += ", which has no body"
		f.hint = "a 304 answers a conditional request, which mcpc sends only with -H: check for a cache in front of the server"
	case code/100 == 3:
		describeRedirect(f, resp)
	case code == http.StatusNotFound:
		f.text += ": no MCP endpoint here"
	case code == http.StatusNotAcceptable || code == http.StatusUnsupportedMediaType:
		h := resp.Request.Header
		f.text += fmt.Sprintf(" to Accept: %s and Content-Type: %s", h.Get("Accept"), h.Get("Content-Type"))
		f.hint = "the specification requires both: an error of the server or a proxy, unless -H changed them"
	case code == http.StatusProxyAuthRequired:
		f.text = "proxy authentication required (" + status + ")"
		f.hint = proxyHint
	case isOverloaded(code):
		f.retryable = true
		if after := resp.Header.Get("Retry-After"); after != "" {
			if strings.Trim(after, "0123456789") == "" {
				after += " s"
			}
			f.text += ", retry after " + after
		}
	case code == http.StatusBadGateway || code == http.StatusGatewayTimeout:
		f.reached = wire.Unknown // the server behind the gateway may have acted
	}
	return f
}

// describeRedirect says where one leads; mcpc follows none.
func describeRedirect(f *fault, resp *http.Response) {
	const fault = "an error of the server or of a proxy in front of it: -vvv shows the whole response"
	to := redact.RedactURL(resp.Header.Get("Location"))
	if _, err := resp.Location(); to == "" {
		f.text, f.hint = f.text+", a redirect without a Location", fault
	} else if err != nil {
		f.text, f.hint = f.text+", a redirect to "+to+", which is not a URL", fault
	} else {
		f.text, f.hint = f.text+", a redirect to "+to+", which is not followed", "if you trust it, use that URL with -s"
	}
}

// isOverloaded reports a status of a server that did not look at the request.
func isOverloaded(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// wasFound takes back what a status says of the address: a conversation was opened there.
func (f *fault) wasFound() {
	if f == nil || f.phase != "wait" { // it was said of something else than this request
		return
	}
	const log = "check the log of the server or of a proxy in front of it; -vvv shows the request"
	switch f.status {
	case http.StatusNotFound:
		f.text = "the server returned HTTP 404 Not Found, but it was reachable at this URL before"
		f.hint = "the path is correct: " + log
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		f.text += ", but it accepted a POST at this URL before"
		f.hint = log
	}
}

// badContent is why a response that came cannot be used.
func badContent(text string, body []byte) *fault {
	return &fault{kind: wire.BadResponse, phase: "read", reached: wire.Answered, text: text, raw: body}
}

// overLimit is why a message of more than so many bytes is not read.
func overLimit(limit int64) *fault {
	return &fault{kind: wire.BadResponse, phase: "read", reached: wire.Answered,
		text: fmt.Sprintf("a message is larger than %d bytes", limit),
		hint: "--max-message-size SIZE raises the limit, 0 removes it"}
}

// cutFault names the end of a body before its message was whole.
func cutFault(ctx context.Context, n int64, err error) *fault {
	f := &fault{kind: wire.Transport, phase: "read", reached: wire.Unknown, err: err}
	switch cause := context.Cause(ctx); {
	case cause != nil:
		f.text, f.err = cause.Error(), cause
	case isBadGzip(err):
		f.kind, f.reached, f.text = wire.BadResponse, wire.Answered, "the response is declared as gzip, but is not gzip"
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		f.text = fmt.Sprintf("the response was cut off after %d bytes", n)
	default:
		f.text = fmt.Sprintf("the response was cut off after %d bytes: %s", n, withoutURL(err))
	}
	return f
}

func isBadGzip(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}
