package client

import (
	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// A Draft is a composed request that is not sent. Over HTTP it has the method, the URL and the
// header fields in order, with secrets hidden; over stdio it is the message alone.
type Draft struct {
	Method, URL string
	Fields      []wire.Field
	Message     []byte
}

// Compose returns the request that Do would send first in a session with memory m. It opens no
// connection and starts no process. It returns an error if the server's URL is invalid.
func Compose(opt Options, m Memory, call Call) (Draft, error) {
	s := &Session{opt: opt.withDefaults()}
	c := &connection{s: s}
	e := eraFor(&m)
	c.value.era = e
	s.current = c
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
	d.Method = head.Method
	d.URL = opt.Secrets.Text(head.URL)
	d.Fields = head.Fields
	for i := range d.Fields {
		d.Fields[i].Value = opt.Secrets.Text(d.Fields[i].Value)
	}
	return d, nil
}
