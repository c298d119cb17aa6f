package client

import (
	"mcpc/internal/client/transport"
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
	c := &connection{s: s}
	e := eraFor(&m)
	c.value.era, s.current = e, c
	out := &outgoing{Outgoing: transport.Outgoing{ID: s.nextID(), Method: call.Method}}
	out.Raw = wire.ComposeRequest(out.ID, call.Method, c.stamp(e, &call, out))
	d := Draft{Message: out.Raw}
	if opt.Server.URL == "" {
		return d, nil
	}
	via := transport.NewConnector(
		transport.ConnectorOptions{Proxy: s.opt.Proxy},
		&transport.Recorder{Secrets: opt.Secrets},
	)
	via.SetCookieField(opt.Server.URL, m.Cookies)
	head, err := transport.NewHTTP(opt.Server.URL, via, 0, opt.Fields, nil).Draft(&out.Outgoing)
	if err != nil {
		return d, err
	}
	d.Method, d.URL, d.Fields = head.Method, opt.Secrets.Text(head.URL), head.Fields
	for i := range d.Fields {
		d.Fields[i].Value = opt.Secrets.Text(d.Fields[i].Value)
	}
	return d, nil
}
