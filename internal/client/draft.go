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
	// A session and a connection that are never opened: stamp reads their options and the era.
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
	const nothingReceived = transport.MaxSize(0) // nor is there an inbox
	head, err := transport.NewHTTP(opt.Server.URL, via, nothingReceived, opt.Fields, nil).Draft(&out.Outgoing)
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
