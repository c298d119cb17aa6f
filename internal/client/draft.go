package client

import (
	"net/http"
	"strconv"

	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// A Draft is a request as it would leave: by HTTP with its address and the header
// fields, in order, of which the secrets are hidden; over stdio it is the message
// alone.
type Draft struct {
	Method, URL string
	Fields      []wire.Field
	Message     []byte
}

// Compose writes the request that Do would begin with in a conversation as m
// remembers it, and sends nothing: no connection is opened and no process started.
// The error is that of a URL that is none.
func Compose(opt Options, m Memory, call Call) (Draft, error) {
	s := &Session{opt: opt.withDefaults()}
	t := &talk{s: s, asked: newRecent()}
	e, line := eraFor(&m), newHTTPTransport(t)
	t.is.era, t.is.line, s.current = e, line, t
	out := &outgoing{id: s.nextID(), method: call.Method}
	t.stamp(e, &call, out)
	d := Draft{Message: wire.ComposeRequest(out.id, call.Method, call.Params)}
	if opt.Server.URL == "" {
		return d, nil
	}
	req, err := http.NewRequest(http.MethodPost, opt.Server.URL, nil)
	if err != nil {
		return d, withoutURL(err)
	}
	line.setFields(req, out)
	req.Header.Set("Host", req.Host)
	req.Header.Set("Content-Length", strconv.Itoa(len(d.Message)))
	d.Method, d.URL = req.Method, opt.Secrets.Text(redact.RedactURL(opt.Server.URL))
	d.Fields = (&recorder{secrets: opt.Secrets}).fieldsOf(req.Header)
	for i := range d.Fields {
		d.Fields[i].Value = opt.Secrets.Text(d.Fields[i].Value)
	}
	return d, nil
}
