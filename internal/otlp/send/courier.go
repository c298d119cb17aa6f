package send

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"mcpc/internal/httpconn"
	"mcpc/internal/jsonraw"
	"mcpc/internal/otlp"
	"mcpc/internal/redact"
	"mcpc/internal/sanitize"
	"mcpc/internal/wire"
)

// The limits for the requests to a collector.
const (
	maxRequest    = 64 << 20 // bytes before compression, as the protocol recommends
	maxResponse   = 64 << 10 // bytes of a body, and of a header
	excerptLength = 200      // bytes of an answer in an error
	firstBackoff  = time.Second
	maxBackoff    = 30 * time.Second
	maxRetryAfter = 365 * 24 * time.Hour // limit of Retry-After
)

// A courier delivers the exports of one signal.
type courier struct {
	signal    Signal
	target    *target
	options   Options
	client    *http.Client
	secrets   *redact.Secrets
	backoff   time.Duration // before the second attempt
	isFailing bool          // the last export was not accepted; Exporter.mu protects it
}

// An Error is the reason why an export was not accepted.
type Error struct {
	// Kind is Transport, Auth, Timeout or BadResponse. It is Usage if traces are turned off.
	Kind wire.Kind
	// Status is the HTTP status, or 0 without a response.
	Status int
	// Text is the message. It is safe on a terminal.
	Text string

	isTransient    bool          // another attempt may succeed
	minDelay       time.Duration // minimum delay before the next attempt
	wasInterrupted bool          // the caller ended the attempt
}

func (e *Error) Error() string { return e.Text }

// A result is the collector's response to an export, or the error of its delivery.
type result struct {
	rejected int64
	message  string // of a partial success
	err      *Error
}

// newCourier returns a courier with its own HTTP client, which follows no redirects.
func newCourier(s Signal, o Options, secrets *redact.Secrets, backoff time.Duration) *courier {
	transport := &http.Transport{
		Proxy: o.Proxy, TLSClientConfig: s.target().tls, DisableCompression: true, Protocols: new(http.Protocols),
		MaxResponseHeaderBytes: maxResponse, MaxIdleConnsPerHost: 1, IdleConnTimeout: 2 * defaultInterval,
	}
	transport.Protocols.SetHTTP1(true)
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &courier{signal: s, target: s.target(), options: o, client: client, secrets: secrets, backoff: backoff}
}

// deliver sends an export, and repeats it after transient failures until ctx ends. It returns if
// the next attempt would start after the deadline. The deadline may be unknown until closing is
// closed.
func (c *courier) deliver(
	ctx context.Context,
	body []byte,
	closing <-chan struct{},
	deadline func() (time.Time, bool),
) result {
	if len(body) > maxRequest {
		return result{
			err: c.newError(wire.BadResponse, 0,
				fmt.Sprintf("not sent: a request of %d bytes exceeds the limit of %d", len(body), maxRequest)),
		}
	}
	if c.signal.gzip {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(body) // a Buffer never fails
		_ = w.Close()
		body = b.Bytes()
	}
	var last result
	for backoff := c.backoff; ; backoff = min(2*backoff, maxBackoff) {
		r := c.attempt(ctx, body)
		if r.err != nil && r.err.wasInterrupted && last.err != nil {
			return last // the error of the last full attempt says more than the interruption
		}
		if r.err == nil || !r.err.isTransient || ctx.Err() != nil {
			return r
		}
		last = r
		jitter := time.Duration((0.5 + rand.Float64()) * float64(backoff))
		if !c.wait(ctx, max(jitter, r.err.minDelay), closing, deadline) {
			return r
		}
	}
}

// attempt sends an export once and reads the response.
func (c *courier) attempt(parent context.Context, body []byte) result {
	ctx, cancel := withTimeout(parent, c.signal.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.target.url.String(), bytes.NewReader(body))
	if err != nil {
		return result{err: c.newError(wire.Transport, 0, err.Error())}
	}
	request.Header = c.target.header.Clone()
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", c.options.UserAgent)
	}
	request.Header["Idempotency-Key"] = nil // not sent; net/http may then repeat the request on a new connection
	request.Header.Set("Content-Type", contentTypes[c.signal.format])
	if c.signal.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.client.Do(request)
	if err != nil {
		return result{err: c.transportError(parent, err)}
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return result{err: c.transportError(parent, err)}
	}
	return c.readResponse(response, raw)
}

var contentTypes = map[otlp.Format]string{otlp.Protobuf: "application/x-protobuf", otlp.JSON: "application/json"}

// readResponse returns the result for a response. By OTLP, only the statuses 429, 502, 503 and 504 are
// transient.
func (c *courier) readResponse(response *http.Response, raw []byte) result {
	format := c.signal.format
	if strings.HasPrefix(response.Header.Get("Content-Type"), contentTypes[otlp.JSON]) {
		format = otlp.JSON
	}
	status := response.StatusCode
	if status/100 != 2 {
		message := otlp.StatusMessage(format, raw)
		if message == "" {
			message = string(raw)
		}
		if status/100 == 3 {
			message = "redirects are not followed"
		} else if status == http.StatusNotFound && strings.Trim(c.target.url.Path, "/") == "" {
			message = "a collector takes them at /" + tracesPath + " and /" + metricsPath +
				", and the endpoint of one signal is used as it is: add the path"
		}
		reason := c.excerpt(message)
		if reason == "" {
			reason = http.StatusText(status)
		}
		err := c.newError(wire.Transport, status, fmt.Sprintf("HTTP %d: %s", status, reason))
		switch status {
		case http.StatusUnauthorized, http.StatusForbidden:
			err.Kind = wire.Auth
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			err.isTransient = true
			err.minDelay = c.retryAfter(response.Header.Get("Retry-After"))
		}
		return result{err: err}
	}
	if len(raw) > maxResponse {
		return result{
			err: c.newError(wire.BadResponse, status,
				fmt.Sprintf("HTTP %d: a response of more than %d bytes", status, maxResponse)),
		}
	}
	rejected, message, err := otlp.ParsePartial(format, raw)
	if err != nil {
		return result{
			err: c.newError(wire.BadResponse, status, fmt.Sprintf("HTTP %d: %v: %s", status, err, c.excerpt(string(raw)))),
		}
	}
	return result{rejected: rejected, message: c.excerpt(message)}
}

// retryAfter returns the delay in a Retry-After field, at most maxRetryAfter. It returns 0 if the
// value is invalid.
func (c *courier) retryAfter(value string) time.Duration {
	wait, _ := httpconn.RetryAfter(value, c.options.Now())
	return min(wait, maxRetryAfter)
}

// transportError returns the Error for a request without a response. It is transient unless TLS failed or
// the response is not HTTP.
func (c *courier) transportError(parent context.Context, err error) *Error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the URL, whose query may be secret
	}
	if parent.Err() != nil {
		return c.interruptedError()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		e := c.newError(wire.Timeout, 0, "no answer within "+c.signal.timeout.String())
		e.isTransient = true
		return e
	}
	operation, isNetwork := errors.AsType[*net.OpError](err)
	name, isDNS := errors.AsType[*net.DNSError](err)
	_, isDistrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, isPlainHTTP := errors.AsType[tls.RecordHeaderError](err)
	isPlainHTTP = isPlainHTTP || errors.Is(err, http.ErrSchemeMismatch)
	isTLSAlert := isNetwork && operation.Op == "remote error"
	isEOF := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	text := innermost(err).Error()
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		text = errno.Error()
	} else if isDNS {
		text = name.Error()
	} else if isEOF {
		text = "the connection ended without an answer"
	} else if isPlainHTTP {
		text = "the collector answered without TLS: use http://"
	} else if strings.Contains(text, `malformed HTTP response "\x00\x00`) {
		// It is a frame of HTTP/2. Package net/http writes this text, and has no type for the error.
		text = "the collector speaks HTTP/2 there, probably OTLP over gRPC: use its port for OTLP over HTTP, usually 4318"
	}
	e := c.newError(wire.Transport, 0, c.excerpt(text))
	if isDistrusted || isPlainHTTP || isTLSAlert { // another attempt fails in the same way
		return e
	}
	if isNetwork || isDNS || isEOF {
		e.isTransient = true
	} else {
		e.Kind = wire.BadResponse
	}
	return e
}

// innermost returns the cause of an error, without the operations that wrap it.
func innermost(err error) error {
	for {
		cause := errors.Unwrap(err)
		if cause == nil {
			return err
		}
		err = cause
	}
}

// interruptedError returns the Error for an attempt that the caller ended.
func (c *courier) interruptedError() *Error {
	e := c.newError(wire.Timeout, 0, "no answer before the export had to end")
	e.wasInterrupted = true
	return e
}

// describePartial describes a partial success of n spans or points. It returns "" if the success
// was full.
func (c *courier) describePartial(r result, n int) string {
	text := r.message
	if r.rejected > 0 {
		text = strings.TrimSuffix(fmt.Sprintf("%d of %d rejected: %s", min(r.rejected, int64(n)), n, r.message), ": ")
	}
	if text == "" {
		return ""
	}
	return c.target.url.Host + ": " + text
}

// newError returns an Error whose text begins with the host of the collector.
func (c *courier) newError(kind wire.Kind, status int, text string) *Error {
	return &Error{Kind: kind, Status: status, Text: c.target.url.Host + ": " + text}
}

// excerpt returns the start of a text from the collector, without secrets and control characters.
func (c *courier) excerpt(text string) string {
	text = c.secrets.Text(strings.TrimSpace(text))
	return sanitize.Line(jsonraw.Excerpt([]byte(text), excerptLength), sanitize.Signs)
}
