package transport

import (
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

	"mcpc/internal/client/network"
	"mcpc/internal/compress"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// connectFault returns the fault of a request that got no response. It judges the error by its type.
// Whether the server may have received the request is known from the trace, not from the error.
func connectFault(ctx context.Context, rt *roundTrip, err error) *Fault {
	f := &Fault{Kind: wire.Transport, Phase: "connect", Err: err, retryable: true}
	isWritten := rt.currentState().isWritten
	if isWritten {
		f.Phase = "wait"
		f.Reached = wire.Unknown
		f.retryable = false
	}
	host := rt.req.URL.Host
	switch {
	case ctx.Err() != nil:
		f.Err = context.Cause(ctx)
		f.Text = f.Err.Error()
	case isAlert(rt, err):
		f.Phase = "tls"
		f.Reached = wire.Unsent
		f.retryable = false
		f.Text = host + " refused the TLS connection: " + err.Error()
		if rt.connector.certRequested.Load() {
			f.Hint = "it rejected the certificate of --cert"
		}
	case isWritten && isHangUp(err):
		f.Text = "the connection to " + host + " was lost before a response"
	case isWritten:
		f.Text = "no response from " + host + " could be read: " + err.Error()
	default:
		describeConnect(f, host, err)
	}
	// Without the certificate, some servers send an alert and some hang up.
	if rt.connector.certMissing.Load() && (f.Phase == "tls" || isHangUp(err)) {
		f.Hint = "the server asked for a certificate: --cert FILE --key FILE"
	}
	return f
}

// isAlert reports whether the server refused the TLS connection. With TLS 1.3 the server checks the
// client certificate only after the request was sent, so a written request is possible on a new
// connection.
func isAlert(rt *roundTrip, err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" {
		return false
	}
	state := rt.currentState()
	isCertificateRefused := !state.isReused && rt.connector.certRequested.Load()
	return !state.isWritten || isCertificateRefused
}

// isHangUp reports whether the other side closed the connection without a response.
func isHangUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || network.IsReset(err)
}

const proxyHint = "put USER:PASSWORD@ before its host, in --proxy or in the variable that names it"

// describeConnect sets the text, hint and phase for an error before the request was sent.
func describeConnect(f *Fault, host string, err error) {
	var dns *net.DNSError
	var op *net.OpError
	var timeout net.Error
	var refusal proxyRefusal
	switch {
	case errors.As(err, &refusal):
		f.Text = "the proxy refused the connection: " + refusal.status
		f.Hint = "--proxy none uses no proxy"
		if refusal.code == http.StatusProxyAuthRequired {
			f.Hint = proxyHint
		}
	case errors.As(err, &op) && (op.Op == "proxyconnect" || op.Op == "socks connect"):
		f.Text = "the proxy could not be used: " + op.Err.Error()
		f.Hint = "use another with --proxy URL, or none with --proxy none"
	case errors.As(err, &dns) && dns.IsNotFound:
		f.Text = "no such host: " + dns.Name
		f.Phase = "dns"
	case errors.As(err, &dns):
		f.Text = "the name " + dns.Name + " could not be resolved"
		f.Phase = "dns"
	case errors.As(err, &op) && op.Net == "unix":
		f.Text = "the socket " + op.Addr.String() + " could not be used: " + op.Err.Error()
		f.Hint = "check that the server is running and listens on this socket"
	case errors.Is(err, network.ConnRefused):
		f.Text = "connection refused by " + host
		f.Hint = "check that the server is running, or use another URL with " + wire.ServerFlag
	case describeTLS(f, host, err):
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, network.ConnTimedOut):
		f.Kind = wire.Timeout
		f.Text = "no connection to " + host + " in time"
	case errors.As(err, &op) && op.Op == "dial":
		f.Text = "could not connect to " + host + ": " + op.Err.Error()
	default:
		f.Text = "the request to " + host + " failed: " + err.Error()
	}
}

// describeTLS sets the text, hint and phase of f for a TLS error, such as which check of the certificate
// failed. It reports false, and changes nothing, if err is not a TLS error.
func describeTLS(f *Fault, host string, err error) bool {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &unknown):
		f.Text = "the certificate of " + host + " is signed by an unknown authority" + aboutCertificate(unknown.Cert)
		f.Hint = "trust its authority with --cacert FILE, or disable the check with --insecure"
	case errors.As(err, &name):
		f.Text = "the certificate of " + host + " is for another name" + aboutCertificate(name.Certificate)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		f.Text = "the certificate of " + host + " has expired or is not yet valid" + aboutCertificate(invalid.Cert)
	case errors.As(err, &invalid):
		f.Text = "the certificate of " + host + " is not valid: " + invalid.Error()
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		f.Text = host + " does not speak TLS"
		f.Hint = "try http:// instead of https://"
	case errors.As(err, &alert):
		f.Text = "the TLS handshake with " + host + " failed: " + alert.Error()
	default:
		return false
	}
	f.Phase = "tls"
	f.retryable = false
	return true
}

// aboutCertificate returns subject, names and validity of a certificate in parentheses, or "" if c
// is nil.
func aboutCertificate(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		names = []string{"none"}
	}
	return fmt.Sprintf(" (%s, for %s, from %s until %s)", c.Subject, strings.Join(names, ", "),
		c.NotBefore.Format(time.DateOnly), c.NotAfter.Format(time.DateOnly))
}

// refusal returns the fault for a response that is refused because of its status, with body as the
// received bytes. A 404 means that the URL is wrong only if no POST to it was answered before.
func (rt *roundTrip) refusal(body []byte) *Fault {
	f := statusFault(rt.resp, body)
	if f.Status == http.StatusNotFound {
		if rt.connector.answeredPOST.Load() {
			f.Text += ", though it has answered at this URL before"
			f.Hint = "the URL is right: the server may lack this method, or a proxy may have answered; " +
				wire.Verbose(3, "the request")
		} else {
			f.Text += ": no MCP endpoint here"
		}
	}
	return f
}

// statusFault returns the fault for an HTTP status, with body as the received bytes.
func statusFault(resp *http.Response, body []byte) *Fault {
	status := fmt.Sprintf("HTTP %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	f := &Fault{
		Kind: wire.Transport, Phase: "wait", Reached: wire.Answered, raw: body,
		Status: resp.StatusCode, response: status, Text: "the server returned " + status,
	}
	code := resp.StatusCode
	switch {
	case code == http.StatusUnauthorized:
		f.Kind = wire.Auth
		f.Text = "authentication required (" + status + ")"
		f.Hint = "send a token: -H 'Authorization: Bearer …'"
	case code == http.StatusForbidden:
		f.Kind = wire.Auth
		f.Text = "access denied by the server (" + status + ")"
	case code == http.StatusNotModified:
		f.addToResponse(", which has no body")
		f.Hint = "a 304 answers a conditional request, which mcpc sends only with -H: " +
			"check for a cache in front of the server"
	case code/100 == 3:
		describeRedirect(f, resp)
	case code == http.StatusNotAcceptable || code == http.StatusUnsupportedMediaType:
		h := resp.Request.Header
		f.Text += fmt.Sprintf(" to Accept: %s and Content-Type: %s", h.Get("Accept"), h.Get("Content-Type"))
		f.Hint = "the specification requires both: the error is in the server or a proxy, unless -H changed them"
	case code == http.StatusProxyAuthRequired:
		f.Text = "proxy authentication required (" + status + ")"
		f.Hint = proxyHint
	case IsOverloaded(code):
		f.retryable = true
		if after := resp.Header.Get("Retry-After"); after != "" {
			if strings.Trim(after, "0123456789") == "" { // else it is a date
				after += " s"
			}
			f.Text += ", retry after " + after
		}
	case code == http.StatusBadGateway || code == http.StatusGatewayTimeout:
		f.Reached = wire.Unknown // the server behind the gateway may have acted
	}
	return f
}

// describeRedirect adds the redirect's URL to a fault. mcpc follows no redirect.
func describeRedirect(f *Fault, resp *http.Response) {
	const fault = "the error is in the server or in a proxy in front of it: -vvv shows the whole response"
	to := redact.RedactURL(resp.Header.Get("Location"))
	if _, err := resp.Location(); to == "" {
		f.addToResponse(", a redirect without a Location")
		f.Hint = fault
	} else if err != nil {
		f.addToResponse(", a redirect to " + to + ", which is not a URL")
		f.Hint = fault
	} else {
		f.addToResponse(", a redirect to " + to + ", which is not followed")
		f.Hint = redirectHint(resp)
	}
}

// addToResponse appends a detail of the response to the fault's text and to response.
func (f *Fault) addToResponse(detail string) {
	f.Text += detail
	f.response += detail
}

// redirectHint returns a hint for a redirect with a valid Location: a login page is no endpoint, and a
// redirect may point to the same URL.
func redirectHint(resp *http.Response) wire.Hint {
	to, _ := resp.Location()
	path := strings.ToLower(to.Path)
	isLogin := slices.ContainsFunc([]string{"login", "signin", "sign-in", "sign_in", "/sso", "/auth", "oauth"},
		func(word string) bool { return strings.Contains(path, word) })
	if resp.Request != nil && resp.Request.URL != nil && to.String() == resp.Request.URL.String() {
		return "the server or a proxy in front of it is misconfigured: the redirect leads to the same URL"
	}
	if isLogin {
		return "it seems to be a page for a login, and no MCP endpoint: check the path of the URL; " +
			"a server whose endpoint needs a login returns 401"
	}
	// Users run the command of a hint, so the URL from the server must need no quotes and contain no secret.
	whole := to.String()
	isRelative := !strings.Contains(resp.Header.Get("Location"), "//") // it stays on the same server
	if isRelative && shellwords.Quote(whole) == whole && redact.RedactURL(whole) == whole {
		return "if you trust it: -s " + wire.Hint(whole)
	}
	return "if you trust it, use that URL with " + wire.ServerFlag
}

// IsOverloaded reports whether a status means that the server did not process the request.
func IsOverloaded(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// NoteReachable replaces the advice of a 404, 405 or 501 to check the URL: an earlier request at the
// URL succeeded. It does nothing for nil.
func (f *Fault) NoteReachable() {
	if f == nil || f.Phase != "wait" { // the fault is not about this request
		return
	}
	log := "check the log of the server or of a proxy in front of it; " + wire.Verbose(3, "the request")
	switch f.Status {
	case http.StatusNotFound:
		f.Text = "the server returned HTTP 404 Not Found, but it was reachable at this URL before"
		f.Hint = "the path is correct: " + log
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		f.Text += ", but it accepted a POST at this URL before"
		f.Hint = log
	}
}

// badResponseFault returns the fault for a response that cannot be used.
func badResponseFault(text string, body []byte) *Fault {
	return &Fault{Kind: wire.BadResponse, Phase: "read", Reached: wire.Answered, Text: text, raw: body}
}

// TooLarge returns the fault for a message of more than limit bytes.
func TooLarge(limit int64) *Fault {
	return &Fault{
		Kind: wire.BadResponse, Phase: "read", Reached: wire.Answered,
		Text: fmt.Sprintf("a message is larger than %d bytes", limit),
		Hint: "--max-message-size SIZE raises the limit, 0 removes it",
	}
}

// cutFault returns the fault for a response that ended after n bytes, before it was complete.
func cutFault(ctx context.Context, n int64, err error) *Fault {
	f := &Fault{Kind: wire.Transport, Phase: "read", Reached: wire.Unknown, Err: err}
	cause := context.Cause(ctx)
	switch {
	case cause != nil:
		f.Text = cause.Error()
		f.Err = cause
	case compress.IsUnreadable(err):
		f.Kind = wire.BadResponse
		f.Reached = wire.Answered
		f.Text = err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		f.Text = fmt.Sprintf("the response was cut off after %d bytes", n)
	default:
		f.Text = fmt.Sprintf("the response was cut off after %d bytes: %s", n, withoutURL(err))
	}
	return f
}
