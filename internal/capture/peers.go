package capture

import (
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
)

// Client and Server are what the two sides of the row's conversation call themselves,
// with their versions; "" where neither has said so.
func (r *Row) Client() string { return r.fromConn(func(c *conn) string { return c.client.String() }) }

// Server is like Client.
func (r *Row) Server() string { return r.fromConn(func(c *conn) string { return c.server.String() }) }

// ClientName and serverName are their names alone.
func (r *Row) ClientName() string { return r.fromConn(func(c *conn) string { return c.client.name }) }

func (r *Row) ServerName() string { return r.fromConn(func(c *conn) string { return c.server.name }) }

// Session is the hash in place of the id of the row's session, or the id itself where it is
// not hidden; "" where it has none.
func (r *Row) Session() string { return r.fromConn(func(c *conn) string { return c.session }) }

// HasConn reports whether Conn is the number of a conversation: something crossed.
func (r *Row) HasConn() bool { return r.conn != nil }

func (r *Row) fromConn(what func(c *conn) string) string {
	if r.conn == nil {
		return ""
	}
	return what(r.conn)
}

// An implementation is the name and the version of a client or a server.
type implementation struct{ name, version string }

func (i implementation) String() string { return strings.TrimSpace(i.name + " " + i.version) }

func implementationIn(raw json.RawMessage) implementation {
	if raw == nil {
		return implementation{}
	}
	members, _ := jsonraw.Object(raw)
	return implementation{members.Text("name"), members.Text("version")}
}

// serverIn is what the result says of the server: in its _meta, or where a conversation is
// opened in itself.
func (r *Row) serverIn(p *placed) implementation {
	if p.message == nil {
		meta, ok := jsonraw.Unquote(nil, slices.Concat([]byte(`"`), p.peeked.meta, []byte(`"`)))
		if !ok || len(meta) == 0 {
			return implementation{}
		}
		return implementationIn(jsonraw.First(meta, metaPrefix+"serverInfo"))
	}
	result, _ := p.message.ResultMembers()
	meta, _ := result.Get("_meta")
	who := implementationIn(jsonraw.First(meta, metaPrefix+"serverInfo"))
	if said, there := result.Get("serverInfo"); there && who == (implementation{}) && handshake[r.Method] {
		return implementationIn(said)
	}
	return who
}

// hashIn is the hash that replaces a secret, or the text itself where none does.
func hashIn(text string) string {
	if !strings.Contains(text, "sha256") {
		return text
	}
	if all := redact.HashesIn(text); len(all) > 0 {
		return all[0]
	}
	return text
}
