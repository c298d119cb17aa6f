package http1

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strconv"
)

// Nearly all requests of a client have a body in memory and a few header fields. They are
// written as http.Request.Write does, in one piece and without memory for each; what is not as
// usual is left to it.

// Bytes are the body of a request in memory.
type Bytes struct{ bytes.Reader }

// NewBytes returns a body that reads b.
func NewBytes(b []byte) *Bytes {
	body := &Bytes{}
	body.Reset(b)
	return body
}

func (*Bytes) Close() error { return nil }

// forStd is the request for net/http, which knows some types of bodies in memory: of others it
// writes the head first.
func forStd(req *http.Request) *http.Request {
	if b, ok := req.Body.(*Bytes); ok {
		fresh := *req
		fresh.Body = io.NopCloser(&b.Reader)
		return &fresh
	}
	return req
}

// mostFields is how many header fields a usual request has.
const mostFields = 32

// appendHead writes the head of a request; false where http.Request.Write has to, which writes
// the same.
func appendHead(b []byte, req *http.Request) ([]byte, bool) {
	body, ok := req.Body.(*Bytes)
	h, agent := req.Header, req.Header["User-Agent"]
	if !ok || req.ContentLength <= 0 || int64(body.Len()) != req.ContentLength || req.Close || req.Trailer != nil || req.TransferEncoding != nil ||
		len(h) > mostFields || len(agent) != 1 || req.URL.Opaque != "" || req.Method == "" {
		return b, false
	}
	host, target := req.Host, req.URL.RequestURI()
	if host == "" {
		host = req.URL.Host
	}
	if !isUsualHost(host) || !isASCII(target) {
		return b, false
	}
	b = append(append(append(append(b, req.Method...), ' '), target...), " HTTP/1.1\r\n"...)
	b = appendField(b, "Host", host)
	if agent := textproto.TrimString(agent[0]); agent != "" {
		b = appendField(b, "User-Agent", agent)
	}
	b = append(strconv.AppendInt(append(b, "Content-Length: "...), req.ContentLength, 10), "\r\n"...)
	var room [mostFields]string
	names := room[:0]
	for name := range h {
		switch name {
		case "Host", "User-Agent", "Content-Length", "Transfer-Encoding", "Trailer":
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range h[name] {
			b = appendField(b, name, textproto.TrimString(value))
		}
	}
	return append(b, "\r\n"...), true
}

func appendField(b []byte, name, value string) []byte {
	return append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
}

// isUsualHost reports a host that the field has as it is.
func isUsualHost(host string) bool {
	for i := range len(host) {
		c := host[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != ':' && c != '[' && c != ']' {
			return false
		}
	}
	return host != ""
}

// writeQuick writes a usual request; false where nothing was written because it is not one.
func (x *exchange) writeQuick() (err error, done bool) {
	if x.trace != nil && (x.trace.WroteHeaderField != nil || x.trace.Wait100Continue != nil) {
		return nil, false
	}
	head, ok := appendHead(x.c.out.AvailableBuffer(), x.req)
	if !ok {
		return nil, false
	}
	_, err = x.c.out.Write(head)
	if err == nil {
		x.observer.WroteHeaders()
		if x.trace != nil && x.trace.WroteHeaders != nil {
			x.trace.WroteHeaders()
		}
	}
	if err == nil {
		_, err = x.req.Body.(*Bytes).WriteTo(x.c.out)
	}
	if err == nil {
		err = x.c.out.Flush()
	}
	if x.trace != nil && x.trace.WroteRequest != nil {
		x.trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
	return err, true
}
